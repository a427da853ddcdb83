// mux's own memory services behind JSON lines: one request a line in, one answer a line out.
//
// Lies in the root of a laid-out checkout of mux and runs under bun: bun run agent.ts HOME. It only calls the
// services; nothing of their code is here. Commands: the six of the memory tool, what the memory screen does
// (read, save, pin), index and hot set with the rendered block, meta, status, dream and harvest with a scripted
// model, sweep, `many` (the requests of a list, all at once), `restart` (new services, as after a restart of
// the app).
import { createInterface } from "node:readline";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { Config } from "@/node/config";
import { HistoryService } from "@/node/services/historyService";
import { MemoryConsolidationService } from "@/node/services/memoryConsolidationService";
import * as hotSet from "@/node/services/memoryHotSet";
import { MemoryMetaService, memoryLogicalKey } from "@/node/services/memoryMeta";
import * as memories from "@/node/services/memoryService";

const home = process.argv[2];
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
let script: any[] = [];
let config: any, meta: any, memory: any, dreams: any;

// A model that says what the request's `steps` say: {calls: [{name, input}]} or {text}.
const model = () =>
  new MockLanguageModelV3({
    doStream: async () => {
      const step = script.shift() ?? { text: "nothing to do" };
      const chunks: any[] = step.calls
        ? step.calls.map((call: any, number: number) => ({
            type: "tool-call",
            toolCallId: `call-${number}-${Math.random()}`,
            toolName: call.name,
            input: JSON.stringify(call.input),
          }))
        : [
            { type: "text-start", id: "t" },
            { type: "text-delta", id: "t", delta: step.text },
            { type: "text-end", id: "t" },
          ];
      const reason = step.calls ? "tool-calls" : "stop";
      chunks.push({ type: "finish", finishReason: { unified: reason, raw: reason }, usage });
      return { stream: simulateReadableStream({ chunks }) } as any;
    },
  });

function start() {
  config = new Config(home);
  meta = new MemoryMetaService(home);
  memory = new memories.MemoryService(config, meta);
  const models = {
    createModelWithPinnedMetadata: async () => ({
      success: true,
      data: { model: model(), metadataModel: "scripted:model" },
    }),
  };
  const experiments = { isExperimentEnabled: () => true };
  dreams = new MemoryConsolidationService(
    config, memory, meta, new HistoryService(config) as any, models as any, experiments as any,
  );
}

// The identity of a workspace as the app's own routes resolve it.
async function scope(workspaceId: string) {
  const bare = { runtime: null, checkoutCwd: "", workspaceId: "", projectPath: "" };
  if (!workspaceId) return bare;
  const all = await config.getAllWorkspaceMetadata();
  const found = all.find((each: any) => each.id === workspaceId);
  if (!found) throw new Error(`Workspace not found: ${workspaceId}`);
  return { ...bare, workspaceId, projectPath: memories.resolveMemoryProjectIdentity(found) };
}

const tokens = async (text: string) => Math.ceil(text.length / 4);

async function answer(q: any): Promise<any> {
  if (q.command === "restart") {
    start();
    return { success: true };
  }
  if (q.command === "many") {
    return { success: true, answers: await Promise.all(q.requests.map(answer)) };
  }
  const ctx = await scope(q.workspace_id ?? "");
  const actor = q.actor ?? "agent";
  switch (q.command) {
    case "view": return memory.view(ctx, q.path, { offset: q.offset, limit: q.limit });
    case "create": return memory.create(ctx, q.path, q.file_text, actor);
    case "str_replace": return memory.strReplace(ctx, q.path, q.old_str, q.new_str ?? "", actor);
    case "insert": return memory.insert(ctx, q.path, q.insert_line, q.insert_text, actor);
    case "delete": return memory.deletePath(ctx, q.path, actor);
    case "rename": return memory.rename(ctx, q.old_path, q.new_path, actor);
    case "read": return memory.readFileWithSha(ctx, q.path);
    case "save": return memory.saveFile(ctx, q.path, q.content, q.expected_sha256 ?? null, "user");
    case "pin": {
      const { scope: of, relPath } = memories.parseMemoryPath(q.path) as any;
      await meta.setPinned(memoryLogicalKey(of, relPath, ctx), q.pinned);
      return { success: true };
    }
    case "index": {
      const entries = await memory.listIndexEntries(ctx);
      return { success: true, entries, text: memories.formatMemoryIndexForToolDescription(entries) };
    }
    case "hot": {
      const items = await memory.listHotMemories(ctx, { countTokens: tokens });
      return { success: true, items, block: hotSet.formatHotMemoriesBlock(items) };
    }
    case "meta": return { success: true, entries: Object.fromEntries(await meta.getEntries()) };
    case "status": return { success: true, status: await dreams.getStatus(q.workspace_id) };
    case "dream":
      script = q.steps ?? [];
      return dreams.maybeRun(q.workspace_id, q.trigger ?? "manual");
    case "harvest":
      script = q.steps ?? [];
      return dreams.maybeHarvestThenSweep(q.metadata);
    case "sweep":
      script = [];
      await dreams.runLaunchSweep(new Map(q.recency));
      return { success: true };
    default: return { success: false, error: `unknown command ${q.command}` };
  }
}

start();
for await (const line of createInterface({ input: process.stdin })) {
  let said: any;
  try {
    said = await answer(JSON.parse(line));
  } catch (error) {
    said = { success: false, crash: String(error) };
  }
  process.stdout.write(JSON.stringify(said) + "\n");
}
