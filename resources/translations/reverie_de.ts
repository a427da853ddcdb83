<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>ActivityTab</name>
    <message>
        <source>&amp;Debug logging</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Only this workspace</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Another filter or another word may find some.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Clear the search</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Every gate and outcome goes to the log until the window is closed.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No decision fits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing has been decided yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Search decisions</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Whatever the background services do, or leave undone and why, is told here. They are switched on in the settings.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which decisions</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>BackgroundPage</name>
    <message>
        <source>&amp;Consolidate {home} in the background</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Tokens a day at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>R&amp;uns a day at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Runs a day at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens a day at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>When a workspace is compacted or archived, and when Reverie starts. Whatever a run changes can be reviewed and undone, and what kept one from running is told.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Card</name>
    <message>
        <source>1 character</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Fold</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show all</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>CompareDialog</name>
    <message>
        <source>Both versions are the same.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Compare</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Keep mine</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reload</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{path}: “-” is on disk, “+” is yours</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ConsentDialog</name>
    <message>
        <source>&amp;Send</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 file stays here, because it is too large or no text.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 secret found in them is replaced by a placeholder and is not sent.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Files that would leave this machine</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No secret was found in them; any that is gets replaced by a placeholder.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Send memories to a model?</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The model {engine} may read all of them.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>You are asked once for this home and destination.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{files} of this home would be sent to {destination}.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>CrashReporter</name>
    <message>
        <source>Reverie made a mistake</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Something unexpected happened ({kind}). Your files are untouched.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>You can go on working. The details below help to mend it; they hold no memory text.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>DecisionDetail</name>
    <message>
        <source>Ask the Doctor</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Select a decision to see all of it.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show the run</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>DecisionList</name>
    <message>
        <source>Decisions of the background services, newest first</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>DiffView</name>
    <message>
        <source>
… the rest is too long to show here.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Difference</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>DoctorTab</name>
    <message>
        <source>All checks of {place} hold.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Asks the model for real, with one tool call; a paid service charges for it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy all checks as text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Doctor</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Every check holds.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Everything is in order</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Look again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No workspace is examined</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing needs a look</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Only what &amp;needs a look</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Select a workspace at the left; the checks are about one.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Test the model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The checks are being made</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Why the memory writer or a consolidation did not run.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{title}: no</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{title}: not quite</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>DraftOffers</name>
    <message>
        <source>1 damaged draft was set aside in Reverie's state directory.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ask again at the next start</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Bring the text back; nothing is saved yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Compare</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Compare, restore or discard them</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Keep for later</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Restore</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save or undo that first, then restore the draft.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show drafts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show what differs from the file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Text of 1 file was not saved; it is kept as a draft.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The file is open with other unsaved text.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>There is unsaved text for this file, typed until {time}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This draft cannot be restored in its place.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>DraftsDialog</name>
    <message>
        <source>Copy text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Discard</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Drafts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Files with a draft</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Keep for later</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Restore</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The file changed since. Restoring shows both versions; nothing is overwritten.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The file is not there any more. Restoring shows the text again.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This draft cannot be restored in its place. {reason}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{path}, typed until {time}: “-” is on disk, “+” is the draft</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>EditorPane</name>
    <message>
        <source>Close</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Close this file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Compare</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Create the file with this text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Create the file with your text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Keep mine</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not saved yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reload</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Select a memory to read and edit it.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show both versions</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Take the version on disk; Ctrl+Z brings yours back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Text of the memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This file changed on disk while you were editing it.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This file holds characters that an editor would change; it is read-only here.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This file was deleted on disk.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This file was deleted on disk. Your text is still here.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Your text stays; the next save replaces theirs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>edited</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>saving…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{reason} Only its beginning is shown.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>EnginePage</name>
    <message>
        <source> %</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Rules: offline, nothing leaves this machine</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A &amp;model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A&amp;utomatic: the agent's own model, else rules</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>As saved, “Consolidate now” uses {engine}. {reason}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Asking {model}…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Consolidate with</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Hold a run for review if a scope would lose more of its lines than</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Largest loss of a scope's lines, in percent</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Limits</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Make one real tool call and say what works</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model, as provider:model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stop a run that takes longer than</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Test</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time limit of a run, in seconds</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write the model as provider:model.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>provider:model, such as ollama:qwen3:8b</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>FindingRow</name>
    <message>
        <source>does not hold</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>in order</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>needs a look</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Footer</name>
    <message>
        <source>Consolidate now, {engine}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Consolidation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Harvest</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>with the rules engine</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>with {model}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>FooterControl</name>
    <message>
        <source>Applying what was chosen…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Consolidating…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not started. Nothing was sent.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Preparing a preview…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undoing…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>another one is running (process {pid})</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>not available</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>running</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>select a workspace</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>HistoryKeeper</name>
    <message>
        <source>The agent overwrote pins or use of {n} memories; they were put back.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>LateTabs</name>
    <message>
        <source>Activity</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Doctor</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Traces</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>About Reverie</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Live</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memories on disk that no project or workspace of this home points at.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not everything could be saved; the window stays open.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not watching</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Orphaned stores</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Polling</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reverie {version}
A desktop memory browser for coding agents.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>There is no workspace {id} in this home.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This home could not be opened</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{events} changes came by event, {rescans} by full scan.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{place} – {home}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MemorySearch</name>
    <message>
        <source>Nothing was found.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Search all memories</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The search index is being made: {n} files so far.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Words, “"exact words"” and /patterns/; narrowed down by scope:project, home:mux, pinned:yes, changed:&lt;7d, by:agent</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MemoryTab</name>
    <message>
        <source>A home is the directory where an agent keeps what it remembers, such as ~/.mux or ~/.xum.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Deleted {name}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No home is open</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Renamed {old} to {new}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Take it back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undo</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MemoryTreeModel</name>
    <message>
        <source>Changed by an agent or a consolidation since you last opened it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Last used {when}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Last written {when}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not saved yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing here yet. Ctrl+N creates the first memory.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pinned: a consolidation never deletes or renames it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The agent does not see it: {reason}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The agent reads it beside its memories.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>changed since you last opened it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>not saved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>not there yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>pinned</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>read by the agent</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>warning</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MemoryTreeView</name>
    <message>
        <source>Memories</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MessageBar</name>
    <message>
        <source>Dismiss</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MessagesView</name>
    <message>
        <source>(nothing)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Attempt {n}, sent as {role}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Attempt {n}, the model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Conversation, {role} {n}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Global instructions</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory before the run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Messages</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Project instructions</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} more are in the raw document.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ModelDialog</name>
    <message>
        <source>&amp;Run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model, as provider:model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Run with a model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write it as provider:model, such as ollama:qwen3:8b. Settings can test one.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>PathDialog</name>
    <message>
        <source>&amp;Description</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Path</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Scope</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A name that begins with a dot is never listed.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Description</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Give it a name.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not a valid path: {problem}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>One line that tells the agent when to read it (optional)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Path in the scope</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Scope</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Something is there already.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>That is its name already.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>topic/notes.md</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Picker</name>
    <message>
        <source>Homes, projects and workspaces</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>PickerModel</name>
    <message>
        <source>Orphaned stores ({n})</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Several projects</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>archived</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>several projects</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ProvidersPage</name>
    <message>
        <source>&amp;Address</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Key</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 model found.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Address</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Address of the provider</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Find local servers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Forget key</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Kept in the system's keyring, nowhere else</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Key</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Key of the provider</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Look at the usual ports of this machine</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Models of local servers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No server answers at the usual ports.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Provider</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Providers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save key</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Server</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The address of {provider} must begin with http:// or https://.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The environment has a key for this provider; it wins over the keyring.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Use this model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{servers} answers, but offers no model.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>RawModel</name>
    <message>
        <source>Name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Value</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>RawView</name>
    <message>
        <source>&amp;Copy value</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 place</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Raw document</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Search in this trace, then press Enter</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Value</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Where it stands</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} or more</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ReplayDialog</name>
    <message>
        <source> s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Model:</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Replay</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Asking {model}…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>At work: {step}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ca&amp;ncel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Message</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model, as provider:model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Not started. Nothing was sent.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Original and replay</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Replay</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time &amp;limit:</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time limit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{what} of {when}, on a copy of the memory as it was then. Nothing is written; secrets in the texts are not sent.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ResultList</name>
    <message>
        <source>Search results</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ResultModel</name>
    <message>
        <source>No project or workspace of this home shows it.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ReviewDetail</name>
    <message>
        <source>&amp;Agree to the loss of these lines</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Edit the text…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Edit this change…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>It stays as it is: {why}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Put your own words in the place of the file's</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Put your own words in the place of these</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show the difference</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Take back my words</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Text in its place</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ReviewPane</name>
    <message>
        <source>1 file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 has to stay.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A preview: nothing of this was written.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A&amp;pply</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Give back every byte this run changed; later edits by hand are kept</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Held for review, nothing of this was written. {reason}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>In conflict: {paths}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No run selected</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This run changed no file.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>This run was undone.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undo this run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write what is ticked; it can be undone</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{changed} of {all} would be changed.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{outcome}: {reason}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ReviewTree</name>
    <message>
        <source>Changes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Refused</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>edited</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>stays</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>RunList</name>
    <message>
        <source>No run fits.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Runs, newest first</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Search runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which runs</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>RunPanel</name>
    <message>
        <source>A consolidation was interrupted on {when}; what it had begun can be undone.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Apply all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Do exactly this; it can be undone</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Give back every byte this run changed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Progress of the consolidation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Review changes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Review plan</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stop before the next change</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undo</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What it changed, file by file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What it would change, file by file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{summary} Left as they are, because they were edited since: {paths}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>RunsDialog</name>
    <message>
        <source>No runs yet. “Consolidate now” makes the first.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Review changes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Runs</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>SearchField</name>
    <message>
        <source>Clear</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>SettingsControl</name>
    <message>
        <source>The key for {provider} is in the system's keyring.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The key for {provider} was removed from the keyring.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>SettingsDialog</name>
    <message>
        <source>&amp;Background</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Consolidation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Models</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;System 1</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Settings</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>ShortcutSheet</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>SizeGauge</name>
    <message>
        <source>{size} bytes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{size} bytes of the {cap} that the agent reads</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{size} of {cap}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>StepsView</name>
    <message>
        <source>&amp;Flat, in the order of time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 tool call</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answer {n}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>At</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Attempt {n}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Attempts, answers and tool calls</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No answer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Step</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The selected step in full</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What came of it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>done</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>ended: {finish}, tokens in and out: {usage}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>was not run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>wrote</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>System1Page</name>
    <message>
        <source> MB</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source> s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Write memories while conversations go on</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A memory of the project, system-1.md</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A model is “rules” or provider:model, such as ollama:qwen3:8b.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A run every so many t&amp;urns</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>After every so many turns of an assistant, what it learned goes into the memory of its project. Runs can be reviewed and undone; why none happened stands in Activity and Doctor.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All of them</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>At most so &amp;many traces</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>At most so mu&amp;ch of them</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Keep a trac&amp;e of runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Megabytes of traces to keep at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Mode&amp;l</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model: rules or provider:model; empty for the conversation's</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>None</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stop a run &amp;after</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The project's memory file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Those that fail</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time limit of a run, in seconds</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Traces to keep at most</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Turns between two runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Where it writes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which runs leave a trace</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Write &amp;into</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>the model of the conversation</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TimelineView</name>
    <message>
        <source>Attempt {n}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The trace does not say when anything happened.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Timeline</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>answer {n}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TraceCompare</name>
    <message>
        <source>Compare traces</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reading…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What differs is tinted; “-” is the older one, “+” the newer.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TraceDetailView</name>
    <message>
        <source>&amp;Export…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Transcript</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 attempt</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ask another model or with another prompt, on a copy: nothing is written</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>C&amp;ompare…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy &amp;summary</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Course</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Evidence: {text}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory and what was tried</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Messages</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing was tried.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Raw</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Re&amp;play…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save the document as a file</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Select the step that shows it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show where</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Two selected traces beside each other</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Verdict, evidence and facts as text</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What was said just then</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>long texts are cut here, not in the raw document</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>triggered by {id}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TraceList</name>
    <message>
        <source>All runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All verdicts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Search traces</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Traces</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Which verdicts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Wrote nothing</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TraceModel</name>
    <message>
        <source>Attempts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Duration</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Verdict</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Workspace</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TracesTab</name>
    <message>
        <source>A trace tells what a run asked, was told and did. Consolidations by a model leave one; the memory writer leaves one when it fails.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Export the trace</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Exported to {path}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No trace fits.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No traces yet</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Select a trace.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The summary is in the clipboard.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TranscriptDialog</name>
    <message>
        <source>Messages</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reading the transcript…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The message that triggered the run is not in the transcript any more.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The run was triggered by the selected message.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The selected message in full</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>There is no transcript of this workspace.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Transcript</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>When</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Who</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>TwoTraces</name>
    <message>
        <source>Answers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answers of the first</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answers of the second</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Differences</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Facts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing differs.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Timelines</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>_Line</name>
    <message>
        <source>Cancel</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Progress: {title}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>actions</name>
    <message>
        <source>&amp;About Reverie</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Collapse all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Consolidate</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Consolidate now</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Expand all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Keyboard shortcuts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Last runs…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Mark all as seen</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;New memory…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Open home…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Pin</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Preview (dry run)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Refresh</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Reload from disk</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Rename…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Save</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Search memories</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Undo last change</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A pinned memory is never deleted or renamed by a consolidation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>C&amp;ancel the running consolidation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancel what runs by itself in this home, and start nothing more until it is taken back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Close every folder</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Consolidate with a model that you name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Consolidate with the offline rules engine</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy &amp;path</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Copy the memory path</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Create a memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Delete the selected memory; it can be undone</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Engine, models, keys and what runs in the background</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Go to &amp;editor</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Go to &amp;homes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Go to &amp;memories</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memories, editor and consolidation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Merge duplicates and tidy up, with the engine that the settings name</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Names and contents of every memory of every open home</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open &amp;demo home</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open a throw-away copy of the demo home</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open every folder</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open the selected memory in the editor</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open the state directory of an agent</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Pause &amp;background services</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Read everything again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Rename or move the selected memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Run with &amp;model…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Run with &amp;rules</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save a&amp;ll</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save every edited memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save the open memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Se&amp;ttings…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show &amp;activity</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show &amp;doctor</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show &amp;homes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show &amp;memories</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show &amp;traces</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show or hide the list of homes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show the version on disk; Ctrl+Z brings your text back</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Show what a consolidation would do, choose from it, and only then apply it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Stop before the next change</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Take away the mark from every memory that someone else edited</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Take back the last deletion or renaming</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What past runs changed, and undo them</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>What the background services decided, and why</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Why runs wrote nothing: what they asked, were told and did</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Why the memory writer or a consolidation did not run</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>dialogs</name>
    <message>
        <source>&amp;No</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>&amp;Take over</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>A home was moved</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open the home of an agent</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Save your changes before closing?</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Take over its history and runs? Say no if it is another home, or a copy.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Unsaved changes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{before} is gone, and {root} may be the same home.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>traces</name>
    <message>
        <source>Answered in prose</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Answers</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Attempt {attempt}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Attempt {attempt}, answer {step}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Attempt {attempt}, answer {step}, {label}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Attempt {n}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Attempts</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Bad JSON</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cancelled</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Cannot call tools</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Consolidation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Damaged trace</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Duration</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Evidence</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Harvest</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory writer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Model</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Never called the tool</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Nothing to write</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Original</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Provider error</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Ran into a limit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Rejected by a rail</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Replay</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Timed out</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tool calls</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tool failed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Verdict</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Wrote</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>cut off</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>failed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>not measured</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{m} min {s} s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} ms</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} s</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{what}: from {start}, {length}</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>words</name>
    <message numerus="yes">
        <source>%n attempts</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n changes</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n changes planned</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n characters</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n damaged drafts were set aside in Reverie's state directory.</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files stay here, because they are too large or no text.</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n have to stay.</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n models found.</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n notes</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n places</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n secrets found in them are replaced by placeholders and are not sent.</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n times</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n tokens</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n tool calls</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n transcripts</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message>
        <source>1 change</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 change planned</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>1 token</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>After a compaction</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>After archiving</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All decisions</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>All runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Another process hosts the background services: {purpose}, process {pid}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Applying what was chosen</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Background runs</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Background services</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Consolidation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Consolidations</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Create</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Did not end well</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Done, {made}. {summary}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Event</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Global</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Go on</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Harvest</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Harvests</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Held for review, nothing was written. {reason}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>How often</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>It follows {transcripts}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Last said</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Launch sweep</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Let them run again</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Level</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Looking for duplicates…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Memory writer</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>New memory</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>No changes needed.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Preview</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Preview of a consolidation</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Preview: {planned}. {summary}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Previews</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Project</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Reading the memories…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Recovery</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Rename</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Run</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Said</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Services elsewhere</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Services on</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Services paused</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Services waiting</source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>Text of %n files was not saved; it is kept as drafts.</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message>
        <source>The background services are paused here.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The background services of this home are paused here.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The background services of this home run in this window.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The model is thinking…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>The model used {tokens}, {cost}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Tokens and cost of the last run of a model, and of all of this month's.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undo</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undone</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undos</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Undos and recoveries</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Waiting for review</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Warnings and errors</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Workspace</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Writing the changes…</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>after a turn</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>an unknown time</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>archive</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>at least {cost}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>automatic</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>cancelled</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>compaction</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>completed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>cost unknown</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>create</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>delete</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>edit</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>failed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>fails</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>from the environment</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>future</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>held for review</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>in process {pid}, which alone can stop it</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>in the future</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>in the keyring</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>insert</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>interrupted</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>just now</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>launch</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>manual</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>missing</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>model: {used}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>month: {used}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>never</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>no changes</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>no changes needed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>no cost</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>none needed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>not started</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>not tried</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>now</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>rename</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>rules</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>running</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>shared by all</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>shared by the project's workspaces</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>unavailable</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>under $0.01</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>undone</source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>used %n times</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message>
        <source>works</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{age}, failed</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{age}, not finished</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{age}, {kept} kept, {skipped} skipped</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{amount} tokens</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} d</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} d ago</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} h</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} h ago</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} min</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} min ago</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} mo</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} mo ago</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} wk</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} wk ago</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} y</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{n} y ago</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{summary} Left as they are, because they were edited since: {paths}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{times}, {age}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>{tokens}, {cost}.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
</TS>
