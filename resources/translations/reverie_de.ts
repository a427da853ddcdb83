<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>AnswerView</name>
    <message>
        <source>1 check ›</source>
        <translation>1 Prüfung ›</translation>
    </message>
    <message>
        <source>Log</source>
        <translation>Protokoll</translation>
    </message>
</context>
<context>
    <name>AttemptView</name>
    <message>
        <source>The run did not try to change anything.</source>
        <translation>Der Lauf wollte nichts ändern.</translation>
    </message>
</context>
<context>
    <name>BlamePane</name>
    <message>
        <source>&amp;Go to this change</source>
        <translation>&amp;Zu dieser Änderung</translation>
    </message>
    <message>
        <source>Lines and who wrote them</source>
        <translation>Zeilen und wer sie schrieb</translation>
    </message>
    <message>
        <source>No lines: this version is empty, missing, too large or not text.</source>
        <translation>Keine Zeilen: Diese Fassung ist leer, fehlt, ist zu groß oder kein Text.</translation>
    </message>
    <message>
        <source>Not in the history yet</source>
        <translation>Noch nicht in der Geschichte</translation>
    </message>
</context>
<context>
    <name>ChangeList</name>
    <message>
        <source>Changes, newest first</source>
        <translation>Änderungen, die neuesten zuerst</translation>
    </message>
    <message>
        <source>Filter changes</source>
        <translation>Welche Änderungen</translation>
    </message>
    <message>
        <source>Loading older changes…</source>
        <translation>Suche weiter zurück…</translation>
    </message>
    <message>
        <source>No changes yet.</source>
        <translation>Noch hat sich nichts geändert.</translation>
    </message>
    <message>
        <source>No matching changes.</source>
        <translation>Keine Änderung passt.</translation>
    </message>
    <message>
        <source>No matching deleted memories.</source>
        <translation>Keine gelöschte Erinnerung passt.</translation>
    </message>
    <message>
        <source>No memories have been deleted yet.</source>
        <translation>Noch wurde nichts gelöscht.</translation>
    </message>
    <message>
        <source>Only {name}  ✕</source>
        <translation>Nur {name}  ✕</translation>
    </message>
    <message>
        <source>Proposals</source>
        <translation>Vorschläge</translation>
    </message>
    <message>
        <source>Search changes</source>
        <translation>Änderungen durchsuchen</translation>
    </message>
    <message>
        <source>Show all changes</source>
        <translation>Alle Änderungen zeigen</translation>
    </message>
    <message>
        <source>Show all changes, not only those of {name}</source>
        <translation>Alle Änderungen zeigen, nicht nur die von {name}</translation>
    </message>
</context>
<context>
    <name>ChangeSetPane</name>
    <message>
        <source>&amp;Discard</source>
        <translation>&amp;Verwerfen</translation>
    </message>
    <message>
        <source>&amp;Take back {count} of {all}</source>
        <translation>{count} von {all} &amp;zurücknehmen</translation>
    </message>
    <message>
        <source>&amp;Undo all</source>
        <translation>Alles &amp;rückgängig machen</translation>
    </message>
    <message>
        <source>&amp;Worth a look…</source>
        <translation>&amp;Einen Blick wert …</translation>
    </message>
    <message>
        <source>A&amp;pply</source>
        <translation>An&amp;wenden</translation>
    </message>
    <message>
        <source>A&amp;pply {count} of {all}</source>
        <translation>{count} von {all} &amp;anwenden</translation>
    </message>
    <message>
        <source>Apply the checked changes; you can undo this</source>
        <translation>Schreiben, was angehakt ist; es lässt sich rückgängig machen</translation>
    </message>
    <message>
        <source>Dismiss this proposal; it stays in the list, and you can apply it later</source>
        <translation>Weglegen; es bleibt in der Liste und kann später angewendet werden</translation>
    </message>
    <message>
        <source>In conflict: {paths}</source>
        <translation>Im Konflikt: {paths}</translation>
    </message>
    <message>
        <source>Keep as a &amp;proposal</source>
        <translation>Als &amp;Vorschlag behalten</translation>
    </message>
    <message>
        <source>Later edits are kept; you can undo this</source>
        <translation>Spätere Änderungen bleiben, und es lässt sich rückgängig machen</translation>
    </message>
    <message>
        <source>No changes were written. {reason}</source>
        <translation>Nichts davon wurde geschrieben. {reason}</translation>
    </message>
    <message>
        <source>No files were changed.</source>
        <translation>Keine Datei wurde geändert.</translation>
    </message>
    <message>
        <source>Pairs of memories for you to decide on: keep the left one, the right one or both</source>
        <translation>Paare von Notizen, über die Sie entscheiden: die linke, die rechte oder beide behalten</translation>
    </message>
    <message>
        <source>Restore all files that were in the folder at that time; you can review them first</source>
        <translation>Alle Dateien wiederherstellen, die der Ordner damals enthielt; Sie sehen vorher, was sich ändern würde</translation>
    </message>
    <message>
        <source>Restore the &amp;folder…</source>
        <translation>&amp;Ordner wiederherstellen…</translation>
    </message>
    <message>
        <source>The agent removed facts from its memories. “Undo all” restores them.</source>
        <translation>Der Agent hat Angaben aus seinen Notizen entfernt. „Alles rückgängig machen“ stellt sie wieder her.</translation>
    </message>
    <message>
        <source>These changes were already applied.</source>
        <translation>Es wurde schon angewendet.</translation>
    </message>
    <message>
        <source>These memories already existed when you first opened this home.</source>
        <translation>Schon da, als Sie dieses Verzeichnis zum ersten Mal geöffnet haben.</translation>
    </message>
    <message>
        <source>This is a preview; no changes were written.</source>
        <translation>Eine Vorschau: Nichts davon wurde geschrieben.</translation>
    </message>
</context>
<context>
    <name>ChangesControl</name>
    <message>
        <source>No home is open.</source>
        <translation>Kein Home ist geöffnet.</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>Restore as</source>
        <translation>Wiederherstellen als</translation>
    </message>
    <message>
        <source>Select that project or workspace in the list of homes, then open the memory again.</source>
        <translation>Wählen Sie es in der Liste der Homes und öffnen Sie die Notiz dann noch einmal.</translation>
    </message>
    <message>
        <source>This memory belongs to another project or workspace.</source>
        <translation>Diese Notiz gehört zu einem anderen Projekt oder Workspace.</translation>
    </message>
</context>
<context>
    <name>ChangesTab</name>
    <message>
        <source>‹ &amp;Back</source>
        <translation>‹ &amp;Zurück</translation>
    </message>
</context>
<context>
    <name>ChecksView</name>
    <message>
        <source>&amp;Problems only</source>
        <translation>Nur &amp;Probleme</translation>
    </message>
    <message>
        <source>1 check</source>
        <translation>1 Prüfung</translation>
    </message>
    <message>
        <source>Check again</source>
        <translation>Erneut prüfen</translation>
    </message>
    <message>
        <source>Checking</source>
        <translation>Prüfung läuft</translation>
    </message>
    <message>
        <source>Checking…</source>
        <translation>Wird geprüft …</translation>
    </message>
    <message>
        <source>Checks</source>
        <translation>Prüfungen</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy all checks as text</source>
        <translation>Alle Prüfungen als Text kopieren</translation>
    </message>
    <message>
        <source>No problems</source>
        <translation>Keine Probleme</translation>
    </message>
    <message>
        <source>Nothing is selected</source>
        <translation>Nichts ausgewählt</translation>
    </message>
    <message>
        <source>Select a workspace on the left.</source>
        <translation>Wählen Sie links einen Workspace.</translation>
    </message>
    <message>
        <source>Send one real request with a tool call to the model; a paid service charges for it</source>
        <translation>Fragt das Modell wirklich, mit einem Werkzeugaufruf; ein bezahlter Dienst berechnet ihn</translation>
    </message>
    <message>
        <source>Test the model</source>
        <translation>Das Modell testen</translation>
    </message>
    <message>
        <source>‹ Runs</source>
        <translation>‹ Läufe</translation>
    </message>
</context>
<context>
    <name>CoEditing</name>
    <message>
        <source>&amp;Show</source>
        <translation>An&amp;zeigen</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;Rückgängig</translation>
    </message>
    <message>
        <source>Changed {by}</source>
        <translation>Geändert {by}</translation>
    </message>
    <message>
        <source>Go to the first merged change</source>
        <translation>Zum ersten davon</translation>
    </message>
    <message>
        <source>Remove the merged changes; your own text is kept</source>
        <translation>Wieder herausnehmen; das Getippte bleibt</translation>
    </message>
    <message>
        <source>Undone by you</source>
        <translation>Von Ihnen rückgängig gemacht</translation>
    </message>
    <message>
        <source>You changed these lines, and they also changed on disk: choose which to keep (F8)</source>
        <translation>Sie haben diese Zeilen geändert, und sie wurden auch auf der Platte geändert: auswählen, welche bleiben (F8)</translation>
    </message>
</context>
<context>
    <name>ColumnParts</name>
    <message>
        <source>Back to the memories</source>
        <translation>Zurück zu den Notizen</translation>
    </message>
    <message>
        <source>‹ &amp;Back</source>
        <translation>‹ &amp;Zurück</translation>
    </message>
</context>
<context>
    <name>CompareControl</name>
    <message>
        <source>Changed {name}.</source>
        <translation>{name} geändert.</translation>
    </message>
    <message>
        <source>Select two memories to compare them, with Ctrl and a click.</source>
        <translation>Wählen Sie zwei Erinnerungen mit Strg und Klick, um sie zu vergleichen.</translation>
    </message>
</context>
<context>
    <name>CompareDialog</name>
    <message>
        <source>Compare</source>
        <translation>Vergleichen</translation>
    </message>
    <message>
        <source>Discard mine</source>
        <translation>Meine verwerfen</translation>
    </message>
    <message>
        <source>Overwrite theirs</source>
        <translation>Andere überschreiben</translation>
    </message>
    <message>
        <source>The file changed again on disk. This is the newest version.</source>
        <translation>Die Datei hat sich auf der Platte noch einmal geändert. Das ist die neueste Fassung.</translation>
    </message>
    <message>
        <source>The two versions are the same.</source>
        <translation>Beide Fassungen sind gleich.</translation>
    </message>
    <message>
        <source>{path}: lines with “-” are on disk, lines with “+” are yours</source>
        <translation>{path}: „-“ ist auf der Platte, „+“ ist das Eigene</translation>
    </message>
</context>
<context>
    <name>ComparePage</name>
    <message>
        <source>&amp;Next</source>
        <translation>&amp;Nächster</translation>
    </message>
    <message>
        <source>&amp;Previous</source>
        <translation>&amp;Vorheriger</translation>
    </message>
    <message>
        <source>Both memories have the same lines.</source>
        <translation>Beide Erinnerungen haben dieselben Zeilen.</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>Vergleichen</translation>
    </message>
    <message>
        <source>Copy to the &amp;right →</source>
        <translation>Nach &amp;rechts kopieren →</translation>
    </message>
    <message>
        <source>Difference {at} of {count}</source>
        <translation>Unterschied {at} von {count}</translation>
    </message>
    <message>
        <source>Go to the next difference (N)</source>
        <translation>Zum nächsten Unterschied (N)</translation>
    </message>
    <message>
        <source>Go to the previous difference (P)</source>
        <translation>Zum vorherigen Unterschied (P)</translation>
    </message>
    <message>
        <source>Open left</source>
        <translation>Linke öffnen</translation>
    </message>
    <message>
        <source>Open right</source>
        <translation>Rechte öffnen</translation>
    </message>
    <message>
        <source>Open the left memory in the editor</source>
        <translation>Die linke Erinnerung im Editor öffnen</translation>
    </message>
    <message>
        <source>Open the right memory in the editor</source>
        <translation>Die rechte Erinnerung im Editor öffnen</translation>
    </message>
    <message>
        <source>Replace the lines on the left by those on the right (Alt+Left); you can undo this</source>
        <translation>Die Zeilen links durch die rechten ersetzen (Alt+Links); Sie können das rückgängig machen</translation>
    </message>
    <message>
        <source>Replace the lines on the right by those on the left (Alt+Right); you can undo this</source>
        <translation>Die Zeilen rechts durch die linken ersetzen (Alt+Rechts); Sie können das rückgängig machen</translation>
    </message>
    <message>
        <source>← Copy to the &amp;left</source>
        <translation>← Nach &amp;links kopieren</translation>
    </message>
</context>
<context>
    <name>ConflictChoice</name>
    <message>
        <source>Conflict</source>
        <translation>Konflikt</translation>
    </message>
    <message>
        <source>Conflict {number} of {count}.</source>
        <translation>Konflikt {number} von {count}.</translation>
    </message>
    <message>
        <source>Keep your lines and discard the lines on disk (F9)</source>
        <translation>Die eigenen Zeilen bleiben, die anderen nicht (F9)</translation>
    </message>
    <message>
        <source>Keep your lines, followed by the lines on disk (Ctrl+F9)</source>
        <translation>Die eigenen Zeilen, dann die anderen (Strg+F9)</translation>
    </message>
    <message>
        <source>Next conflict (F8)</source>
        <translation>Nächster Konflikt (F8)</translation>
    </message>
    <message>
        <source>Press Compare to see both versions.</source>
        <translation>„Vergleichen“ zeigt beide Fassungen.</translation>
    </message>
    <message>
        <source>Previous conflict (Shift+F8)</source>
        <translation>Voriger Konflikt (Umschalt+F8)</translation>
    </message>
    <message>
        <source>Replace your lines with the lines on disk; Ctrl+Z undoes this (Shift+F9)</source>
        <translation>Deren Zeilen ersetzen die eigenen; Strg+Z fragt wieder (Umschalt+F9)</translation>
    </message>
    <message>
        <source>These lines were deleted on disk.</source>
        <translation>Diese Zeilen wurden auf der Platte gelöscht.</translation>
    </message>
    <message>
        <source>Use &amp;both</source>
        <translation>&amp;Beide nehmen</translation>
    </message>
    <message>
        <source>Use &amp;mine</source>
        <translation>&amp;Meine nehmen</translation>
    </message>
    <message>
        <source>Use &amp;theirs</source>
        <translation>&amp;Andere nehmen</translation>
    </message>
    <message>
        <source>Version on disk</source>
        <translation>Was auf der Platte steht</translation>
    </message>
    <message>
        <source>You changed these lines. The version on disk is:</source>
        <translation>Diese Zeilen wurden hier geändert; auf der Platte lauten sie:</translation>
    </message>
    <message>
        <source>You deleted these lines. The version on disk is:</source>
        <translation>Diese Zeilen wurden hier gelöscht; auf der Platte lauten sie:</translation>
    </message>
</context>
<context>
    <name>ConsentDialog</name>
    <message>
        <source>&amp;Send</source>
        <translation>&amp;Senden</translation>
    </message>
    <message>
        <source>1 file</source>
        <translation>1 Datei</translation>
    </message>
    <message>
        <source>1 file is not sent because it is too large or not a text file.</source>
        <translation>1 Datei bleibt hier, weil sie zu groß oder kein Text ist.</translation>
    </message>
    <message>
        <source>1 value in these files looks like a secret; Reverie sends a placeholder instead.</source>
        <translation>1 Wert darin sieht für Reverie wie ein Geheimnis aus: Stattdessen wird ein Platzhalter gesendet.</translation>
    </message>
    <message>
        <source>Files that would be sent</source>
        <translation>Dateien, die diesen Rechner verlassen würden</translation>
    </message>
    <message>
        <source>Reverie cannot recognize every secret. If the files could contain secrets, read them before you send them.</source>
        <translation>Reverie kann nicht jedes Geheimnis erkennen: Lesen Sie die Dateien vorher, falls sie welche enthalten könnten.</translation>
    </message>
    <message>
        <source>Reverie found nothing in these files that looks like a secret.</source>
        <translation>Nichts darin sieht für Reverie wie ein Geheimnis aus.</translation>
    </message>
    <message>
        <source>Reverie will not ask again for this home and destination.</source>
        <translation>Reverie fragt nur einmal für dieses Home und Ziel.</translation>
    </message>
    <message>
        <source>Send memories to a model?</source>
        <translation>Notizen an ein Modell senden?</translation>
    </message>
    <message>
        <source>The model {engine} gets access to all these files.</source>
        <translation>Das Modell {engine} erhält Zugriff auf alle diese Dateien.</translation>
    </message>
    <message>
        <source>{files} from this home would be sent to {destination}.</source>
        <translation>{files} dieses Homes würden an {destination} gesendet.</translation>
    </message>
</context>
<context>
    <name>ContextTab</name>
    <message>
        <source>As of:</source>
        <translation>Stand:</translation>
    </message>
    <message>
        <source>Context unknown for this agent</source>
        <translation>Für diesen Agenten nicht bekannt</translation>
    </message>
    <message>
        <source>Copy the text</source>
        <translation>Text kopieren</translation>
    </message>
    <message>
        <source>Copy this part exactly as the agent loads it</source>
        <translation>Diesen Teil kopieren, wie er geladen wird</translation>
    </message>
    <message>
        <source>Memories and whether they are loaded</source>
        <translation>Notizen, und ob sie geladen werden</translation>
    </message>
    <message>
        <source>No context to show</source>
        <translation>Noch kein Kontext</translation>
    </message>
    <message>
        <source>Number of days from today</source>
        <translation>Anzahl der Tage ab heute</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Parts of the context</source>
        <translation>Teile des Kontexts</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>Anheften</translation>
    </message>
    <message>
        <source>Reverie does not know what {agent} loads.</source>
        <translation>Reverie weiß nicht, was {agent} lädt.</translation>
    </message>
    <message>
        <source>Select a workspace or a project on the left to see what its agent would load.</source>
        <translation>Links einen Workspace oder ein Projekt wählen, um zu sehen, was dessen Agent laden würde.</translation>
    </message>
    <message>
        <source>Show only &amp;loaded</source>
        <translation>Nur was ge&amp;laden wird</translation>
    </message>
    <message>
        <source>Show the selected memory in the editor</source>
        <translation>Die gewählte Notiz im Editor zeigen</translation>
    </message>
    <message>
        <source>Show what would be loaded on a later day if no memory is used until then</source>
        <translation>Was später geladen würde, wenn bis dahin nichts benutzt wird</translation>
    </message>
    <message>
        <source>The agent loads pinned memories before frequently used ones</source>
        <translation>Eine angeheftete Notiz wird vor den oft benutzten geladen</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Lösen</translation>
    </message>
    <message>
        <source>includes unsaved text</source>
        <translation>mit ungesichertem Text</translation>
    </message>
    <message>
        <source>{place}, as the agent sees it: about {tokens} tokens</source>
        <translation>{place}, wie der Agent es sieht: etwa {tokens} Tokens</translation>
    </message>
</context>
<context>
    <name>CrashReporter</name>
    <message>
        <source>An unexpected error occurred ({kind}).</source>
        <translation>Etwas Unerwartetes ist geschehen ({kind}).</translation>
    </message>
    <message>
        <source>Copy &amp;details</source>
        <translation>&amp;Einzelheiten kopieren</translation>
    </message>
    <message>
        <source>Internal error in Reverie</source>
        <translation>Reverie hat einen Fehler gemacht</translation>
    </message>
    <message>
        <source>You can keep working. If you report this bug, include the details below; they contain no memory text.</source>
        <translation>Sie können weiterarbeiten. Wenn Sie den Fehler melden, fügen Sie die Einzelheiten unten bei; sie enthalten keinen Text aus Notizen.</translation>
    </message>
</context>
<context>
    <name>DeletedPane</name>
    <message>
        <source>&amp;Restore</source>
        <translation>&amp;Wiederherstellen</translation>
    </message>
    <message>
        <source>Another memory now has this path, so this one is restored under a new name.</source>
        <translation>An seiner Stelle liegt eine andere Erinnerung: Sie kommt unter einem neuen Namen zurück.</translation>
    </message>
    <message>
        <source>If another memory now has the same path, the deleted one is restored under a new name.</source>
        <translation>Wo eine andere Erinnerung liegt, kommen sie unter einem neuen Namen zurück.</translation>
    </message>
    <message>
        <source>Its project or workspace no longer exists, so the memory cannot be restored there. Copy its text instead.</source>
        <translation>Projekt oder Workspace ist weg, daher kann es dort nicht wiederhergestellt werden; der Text lässt sich kopieren.</translation>
    </message>
    <message>
        <source>Restore &amp;as…</source>
        <translation>&amp;Wiederherstellen als…</translation>
    </message>
    <message>
        <source>Restore the memory under another name</source>
        <translation>Unter anderem Namen zurückholen</translation>
    </message>
    <message>
        <source>Restore without overwriting anything</source>
        <translation>Zurückholen; nichts wird überschrieben</translation>
    </message>
    <message>
        <source>Text of the deleted memory</source>
        <translation>Was in der gelöschten Notiz stand</translation>
    </message>
</context>
<context>
    <name>DiffView</name>
    <message>
        <source>Difference</source>
        <translation>Unterschied</translation>
    </message>
</context>
<context>
    <name>DraftOffers</name>
    <message>
        <source>Another program overwrote the text that you saved in this file ({time}). Reverie kept your version.</source>
        <translation>Ein anderes Programm hat überschrieben, was Sie hier gespeichert haben ({time}). Ihr Text ist noch da.</translation>
    </message>
    <message>
        <source>Ask again the next time Reverie starts</source>
        <translation>Beim nächsten Start noch einmal fragen</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>Vergleichen</translation>
    </message>
    <message>
        <source>Compare, restore or discard the drafts</source>
        <translation>Vergleichen, wiederherstellen oder verwerfen</translation>
    </message>
    <message>
        <source>Keep for later</source>
        <translation>Für später behalten</translation>
    </message>
    <message>
        <source>Put the text back into the editor without saving it</source>
        <translation>Den Text in den Editor zurückholen, ohne ihn zu speichern</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>Save or discard that text, then restore the draft.</source>
        <translation>Erst diesen Text speichern oder verwerfen, dann den Entwurf wiederherstellen.</translation>
    </message>
    <message>
        <source>Show drafts</source>
        <translation>Entwürfe zeigen</translation>
    </message>
    <message>
        <source>Show the differences between the draft and the file</source>
        <translation>Zeigen, was sich von der Datei unterscheidet</translation>
    </message>
    <message>
        <source>The draft has a line that is too long to edit here, but you can copy the draft.</source>
        <translation>Der Entwurf hat eine Zeile, die zu lang ist, um sie hier zu bearbeiten, aber Sie können ihn kopieren.</translation>
    </message>
    <message>
        <source>The file is open and has other unsaved text.</source>
        <translation>Die Datei ist mit anderem ungespeichertem Text offen.</translation>
    </message>
    <message>
        <source>This draft cannot be restored to its file.</source>
        <translation>Dieser Entwurf kann nicht an seiner Stelle wiederhergestellt werden.</translation>
    </message>
    <message>
        <source>This file has unsaved text, last edited at {time}.</source>
        <translation>Zu dieser Datei gibt es ungespeicherten Text, getippt bis {time}.</translation>
    </message>
</context>
<context>
    <name>DraftsDialog</name>
    <message>
        <source>Copy text</source>
        <translation>Text kopieren</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>Verwerfen</translation>
    </message>
    <message>
        <source>Drafts</source>
        <translation>Entwürfe</translation>
    </message>
    <message>
        <source>Files with a draft</source>
        <translation>Dateien mit einem Entwurf</translation>
    </message>
    <message>
        <source>Keep for later</source>
        <translation>Für später behalten</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>The file has changed since the draft was made. Restoring shows both versions; nothing is overwritten.</source>
        <translation>Die Datei hat sich seither geändert. Wiederherstellen zeigt beide Fassungen; nichts wird überschrieben.</translation>
    </message>
    <message>
        <source>The file no longer exists. Restoring opens the draft in the editor.</source>
        <translation>Die Datei ist nicht mehr da. Wiederherstellen zeigt den Text wieder.</translation>
    </message>
    <message>
        <source>This draft cannot be restored to its file. {reason}</source>
        <translation>Dieser Entwurf kann nicht an seiner Stelle wiederhergestellt werden. {reason}</translation>
    </message>
    <message>
        <source>{path}, last edited at {time}: lines with “-” are on disk, lines with “+” are in the draft</source>
        <translation>{path}, getippt bis {time}: „-“ ist auf der Platte, „+“ ist der Entwurf</translation>
    </message>
</context>
<context>
    <name>EditorPane</name>
    <message>
        <source>Allow Reverie to edit these memories even though it does not recognize their format</source>
        <translation>Reverie diese Notizen ändern lassen, obwohl es ihren Aufbau nicht kennt</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Close this file</source>
        <translation>Diese Datei schließen</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>Vergleichen</translation>
    </message>
    <message>
        <source>Convert the file to UTF-8 so that you can edit it here; Undo restores the original file</source>
        <translation>Die Datei in UTF-8 umwandeln, damit sie hier bearbeitet werden kann; Rückgängig stellt die ursprüngliche Datei wieder her</translation>
    </message>
    <message>
        <source>Convert to UTF-8</source>
        <translation>In UTF-8 umwandeln</translation>
    </message>
    <message>
        <source>Copy all</source>
        <translation>Alles kopieren</translation>
    </message>
    <message>
        <source>Copy the whole text, including what is not shown here</source>
        <translation>Den ganzen Text kopieren, auch was hier nicht zu sehen ist</translation>
    </message>
    <message>
        <source>Create the file with this text</source>
        <translation>Die Datei mit diesem Text anlegen</translation>
    </message>
    <message>
        <source>Create the file with your text</source>
        <translation>Die Datei mit dem eigenen Text anlegen</translation>
    </message>
    <message>
        <source>Discard mine</source>
        <translation>Meine verwerfen</translation>
    </message>
    <message>
        <source>Go to the conflict and choose which lines to keep</source>
        <translation>Zur Stelle gehen und auswählen, wessen Zeilen bleiben</translation>
    </message>
    <message>
        <source>Keep your text; the next save overwrites the version on disk</source>
        <translation>Der eigene Text bleibt; das nächste Speichern ersetzt den anderen</translation>
    </message>
    <message>
        <source>Memory text</source>
        <translation>Text der Notiz</translation>
    </message>
    <message>
        <source>Not saved yet</source>
        <translation>Noch nicht gespeichert</translation>
    </message>
    <message>
        <source>Only the first {lines} lines are shown, so the text cannot be edited.</source>
        <translation>Nur die ersten {lines} Zeilen werden gezeigt, deshalb kann der Text nicht bearbeitet werden.</translation>
    </message>
    <message>
        <source>Only the first {n} characters of each line are shown, so the text cannot be edited. Edit it in another program.</source>
        <translation>Von jeder Zeile sind nur die ersten {n} Zeichen zu sehen, deshalb können Sie den Text hier nicht bearbeiten. Bearbeiten Sie ihn in einem anderen Programm.</translation>
    </message>
    <message>
        <source>Overwrite theirs</source>
        <translation>Andere überschreiben</translation>
    </message>
    <message>
        <source>Resolve…</source>
        <translation>Lösen …</translation>
    </message>
    <message>
        <source>Save again</source>
        <translation>Noch einmal speichern</translation>
    </message>
    <message>
        <source>Select a memory to read and edit it.</source>
        <translation>Eine Notiz auswählen, um sie zu lesen und zu bearbeiten.</translation>
    </message>
    <message>
        <source>Show both versions</source>
        <translation>Beide Fassungen zeigen</translation>
    </message>
    <message>
        <source>Show in full</source>
        <translation>Ganz zeigen</translation>
    </message>
    <message>
        <source>Show the whole text; this can take a while</source>
        <translation>Den ganzen Text zeigen; das kann etwas dauern</translation>
    </message>
    <message>
        <source>The agent does not read beyond this point.</source>
        <translation>So weit liest der Agent nicht.</translation>
    </message>
    <message>
        <source>The text is too long: the agent does not read anything below the dashed line.</source>
        <translation>Der Text ist zu lang: Was unter der gestrichelten Linie steht, liest der Agent nicht.</translation>
    </message>
    <message>
        <source>This file changed on disk while you were editing it.</source>
        <translation>Diese Datei hat sich auf der Platte geändert, während sie bearbeitet wurde.</translation>
    </message>
    <message>
        <source>This file contains characters that this editor would change, so it is read-only here.</source>
        <translation>Diese Datei enthält Zeichen, die dieser Editor ändern würde; hier ist sie schreibgeschützt.</translation>
    </message>
    <message>
        <source>This file is near its size limit: the agent reads only {size} more.</source>
        <translation>Diese Datei ist fast zu groß: Der Agent liest nur noch {size} mehr.</translation>
    </message>
    <message>
        <source>This file was deleted on disk.</source>
        <translation>Diese Datei wurde auf der Platte gelöscht.</translation>
    </message>
    <message>
        <source>This file was deleted on disk. Your text is still here.</source>
        <translation>Diese Datei wurde auf der Platte gelöscht. Der Text ist hier noch da.</translation>
    </message>
    <message>
        <source>Use the version on disk; Ctrl+Z restores your text</source>
        <translation>Die Fassung auf der Platte nehmen; Strg+Z holt die eigene zurück</translation>
    </message>
    <message>
        <source>Write anyway…</source>
        <translation>Trotzdem schreiben…</translation>
    </message>
    <message>
        <source>edited</source>
        <translation>bearbeitet</translation>
    </message>
    <message>
        <source>saving…</source>
        <translation>wird gespeichert…</translation>
    </message>
    <message>
        <source>{reason} Only the beginning of the file is shown.</source>
        <translation>{reason} Nur der Anfang wird gezeigt.</translation>
    </message>
    <message>
        <source>{reason} Reverie will save your text automatically as soon as it can.</source>
        <translation>{reason} Reverie speichert Ihren Text automatisch, sobald es möglich ist.</translation>
    </message>
</context>
<context>
    <name>EditorPlace</name>
    <message>
        <source>Back to the editor</source>
        <translation>Zurück zum Editor</translation>
    </message>
    <message>
        <source>Back to the editor (Esc)</source>
        <translation>Zurück zum Editor (Esc)</translation>
    </message>
</context>
<context>
    <name>Edits</name>
    <message>
        <source>The memory was not duplicated.</source>
        <translation>Die Notiz wurde nicht dupliziert.</translation>
    </message>
</context>
<context>
    <name>ExtractControl</name>
    <message>
        <source>Cancelled.</source>
        <translation>Abgebrochen.</translation>
    </message>
    <message>
        <source>Not started. Nothing was sent.</source>
        <translation>Nicht begonnen. Nichts wurde gesendet.</translation>
    </message>
    <message>
        <source>Reading…</source>
        <translation>Wird gelesen…</translation>
    </message>
</context>
<context>
    <name>ExtractDialog</name>
    <message>
        <source>&amp;Cancel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>&amp;Extract</source>
        <translation>&amp;Extrahieren</translation>
    </message>
    <message>
        <source>Changed</source>
        <translation>Geändert</translation>
    </message>
    <message>
        <source>Consolidation</source>
        <translation>Konsolidierung</translation>
    </message>
    <message>
        <source>Each result is saved as a note for Codex. Codex adds the note to its memory the next time it consolidates.</source>
        <translation>Jedes Ergebnis wird eine Notiz an Codex. Codex nimmt sie beim nächsten Zusammenführen in sein Gedächtnis auf.</translation>
    </message>
    <message>
        <source>Engine: {engine}. {why}</source>
        <translation>Verfahren: {engine}. {why}</translation>
    </message>
    <message>
        <source>Extract rollouts</source>
        <translation>Rollouts extrahieren</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Progress of this run</source>
        <translation>Fortschritt dieses Laufs</translation>
    </message>
    <message>
        <source>Project</source>
        <translation>Projekt</translation>
    </message>
    <message>
        <source>Re&amp;view changes</source>
        <translation>Änderungen &amp;prüfen</translation>
    </message>
    <message>
        <source>Session</source>
        <translation>Sitzung</translation>
    </message>
    <message>
        <source>Sessions and directories</source>
        <translation>Sitzungen und Verzeichnisse</translation>
    </message>
    <message>
        <source>Show or undo what the selected run changed</source>
        <translation>Was der gewählte geändert hat, und rückgängig machen</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>Stop the run. Saved results are kept, and the next run continues with the rest.</source>
        <translation>Den Lauf anhalten. Gespeicherte Ergebnisse bleiben; der nächste Lauf setzt mit dem Rest fort.</translation>
    </message>
    <message>
        <source>Use fixed rules, offline and without a model</source>
        <translation>Offline, nach festen Regeln</translation>
    </message>
    <message>
        <source>Use the model or rules selected in Settings</source>
        <translation>Das Modell oder die Regeln aus den Einstellungen verwenden</translation>
    </message>
    <message>
        <source>With &amp;rules</source>
        <translation>Mit &amp;Regeln</translation>
    </message>
</context>
<context>
    <name>FailuresTab</name>
    <message>
        <source>Copy the details below</source>
        <translation>Die Einzelheiten unten kopieren</translation>
    </message>
    <message>
        <source>Copy the text</source>
        <translation>Text kopieren</translation>
    </message>
    <message>
        <source>Details of the selected entry</source>
        <translation>Einzelheiten der Auswahl</translation>
    </message>
    <message>
        <source>Edit the resolution…</source>
        <translation>Lösung bearbeiten …</translation>
    </message>
    <message>
        <source>Failures</source>
        <translation>Fehlschläge</translation>
    </message>
    <message>
        <source>Goal of the next attempt</source>
        <translation>Ziel des nächsten Versuchs</translation>
    </message>
    <message>
        <source>Kinds of failures</source>
        <translation>Arten von Fehlschlägen</translation>
    </message>
    <message>
        <source>Lessons from failed attempts appear here.</source>
        <translation>Lehren aus fehlgeschlagenen Versuchen stehen hier.</translation>
    </message>
    <message>
        <source>Next &amp;goal:</source>
        <translation>Nächstes &amp;Ziel:</translation>
    </message>
    <message>
        <source>Nothing has failed here yet</source>
        <translation>Hier ist noch nichts fehlgeschlagen</translation>
    </message>
    <message>
        <source>Open the Claude Code session that the agent recorded</source>
        <translation>Die Sitzung von Claude Code öffnen, die der Agent aufgezeichnet hat</translation>
    </message>
    <message>
        <source>Open the crash file</source>
        <translation>Absturzdatei öffnen</translation>
    </message>
    <message>
        <source>Open the episode</source>
        <translation>Episode öffnen</translation>
    </message>
    <message>
        <source>Open the file</source>
        <translation>Datei öffnen</translation>
    </message>
    <message>
        <source>Open the newest record of this kind</source>
        <translation>Die neueste Aufzeichnung dieser Art öffnen</translation>
    </message>
    <message>
        <source>Open the transcript</source>
        <translation>Mitschrift öffnen</translation>
    </message>
    <message>
        <source>Show the crash</source>
        <translation>Den Absturz dazu zeigen</translation>
    </message>
    <message>
        <source>Show the crashes behind this lesson</source>
        <translation>Die Abstürze, aus denen diese Lehre stammt</translation>
    </message>
    <message>
        <source>Show the file in the Memory tab</source>
        <translation>Unter den Notizen zeigen</translation>
    </message>
    <message>
        <source>Show the lesson</source>
        <translation>Die Lehre dazu zeigen</translation>
    </message>
    <message>
        <source>Show the newest lesson from a crash of this kind</source>
        <translation>Die neueste Lehre aus einem solchen Absturz</translation>
    </message>
    <message>
        <source>The resolution was saved.</source>
        <translation>Die Lösung ist gesichert.</translation>
    </message>
    <message>
        <source>Type a goal to see which warnings match</source>
        <translation>Ein Ziel eingeben, um zu sehen, welche Warnungen passen</translation>
    </message>
    <message>
        <source>Write down how this error was resolved</source>
        <translation>Aufschreiben, wie dieser Fehler behoben wurde</translation>
    </message>
</context>
<context>
    <name>Field</name>
    <message>
        <source>Enter a model as service:model, for example ollama:qwen3:8b.</source>
        <translation>Ein Modell wird als Dienst:Modell geschrieben, etwa ollama:qwen3:8b.</translation>
    </message>
    <message>
        <source>The address must start with http:// or https://.</source>
        <translation>Eine Adresse beginnt mit http:// oder https://.</translation>
    </message>
    <message>
        <source>The value of “{label}” is not valid.</source>
        <translation>Der Wert von „{label}“ ist nicht gültig.</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>All</source>
        <translation>Alle</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
    </message>
    <message>
        <source>Find</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Match case</source>
        <translation>Groß und klein unterscheiden</translation>
    </message>
    <message>
        <source>Matches</source>
        <translation>Treffer</translation>
    </message>
    <message>
        <source>Next match (F3)</source>
        <translation>Nächster Treffer (F3)</translation>
    </message>
    <message>
        <source>Previous match (Shift+F3)</source>
        <translation>Voriger Treffer (Umschalt+F3)</translation>
    </message>
    <message>
        <source>Regular expression</source>
        <translation>Regulärer Ausdruck</translation>
    </message>
    <message>
        <source>Replace</source>
        <translation>Ersetzen</translation>
    </message>
    <message>
        <source>Replace all matches; one Undo reverts them all</source>
        <translation>Alle Treffer ersetzen; einmal Rückgängig stellt alle wieder her</translation>
    </message>
    <message>
        <source>Replace this match and go to the next one</source>
        <translation>Diesen Treffer ersetzen und weiter</translation>
    </message>
    <message>
        <source>Replace with</source>
        <translation>Ersetzen durch</translation>
    </message>
    <message>
        <source>Too many matches to replace them all. Make the search more specific.</source>
        <translation>Zu viele Treffer, um alle zu ersetzen. Suchen Sie genauer.</translation>
    </message>
    <message>
        <source>Whole words only</source>
        <translation>Nur ganze Wörter</translation>
    </message>
    <message>
        <source>Word</source>
        <translation>Wort</translation>
    </message>
    <message>
        <source>none</source>
        <translation>keine</translation>
    </message>
    <message>
        <source>{n} of {total}</source>
        <translation>{n} von {total}</translation>
    </message>
</context>
<context>
    <name>FindingRow</name>
    <message>
        <source>OK</source>
        <translation>in Ordnung</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>problem</source>
        <translation>Problem</translation>
    </message>
    <message>
        <source>warning</source>
        <translation>Warnung</translation>
    </message>
</context>
<context>
    <name>FindingsList</name>
    <message>
        <source>1 warning</source>
        <translation>1 Warnung</translation>
    </message>
    <message>
        <source>No warnings</source>
        <translation>Keine Hinweise</translation>
    </message>
</context>
<context>
    <name>Footer</name>
    <message>
        <source>Consolidate, {engine}</source>
        <translation>Konsolidieren, {engine}</translation>
    </message>
    <message>
        <source>Consolidation</source>
        <translation>Konsolidierung</translation>
    </message>
    <message>
        <source>with {model}</source>
        <translation>mit {model}</translation>
    </message>
    <message>
        <source>without a model</source>
        <translation>ohne Modell</translation>
    </message>
    <message>
        <source>{engine}; saves notes for Codex</source>
        <translation>{engine}; schreibt Notizen für Codex</translation>
    </message>
</context>
<context>
    <name>FooterControl</name>
    <message>
        <source>Another run is in progress.</source>
        <translation>Ein anderer Lauf ist noch im Gange.</translation>
    </message>
    <message>
        <source>Applying the selected changes…</source>
        <translation>Die Auswahl wird angewendet…</translation>
    </message>
    <message>
        <source>Consolidating…</source>
        <translation>Wird konsolidiert…</translation>
    </message>
    <message>
        <source>Not started. Nothing was sent.</source>
        <translation>Nicht begonnen. Nichts wurde gesendet.</translation>
    </message>
    <message>
        <source>Preparing a preview…</source>
        <translation>Eine Vorschau wird vorbereitet…</translation>
    </message>
    <message>
        <source>Try again when that run has finished.</source>
        <translation>Versuchen Sie es noch einmal, wenn er zu Ende ist.</translation>
    </message>
    <message>
        <source>Undoing…</source>
        <translation>Wird rückgängig gemacht…</translation>
    </message>
    <message>
        <source>another consolidation is running (process {pid})</source>
        <translation>ein anderer läuft (Prozess {pid})</translation>
    </message>
    <message>
        <source>not available</source>
        <translation>nicht verfügbar</translation>
    </message>
    <message>
        <source>running</source>
        <translation>läuft</translation>
    </message>
    <message>
        <source>select a workspace or a project</source>
        <translation>einen Workspace oder ein Projekt wählen</translation>
    </message>
    <message>
        <source>this agent consolidates its memories itself</source>
        <translation>dieser Agent konsolidiert seine Notizen selbst</translation>
    </message>
</context>
<context>
    <name>FrontForm</name>
    <message>
        <source>Add</source>
        <translation>Hinzufügen</translation>
    </message>
    <message>
        <source>Add quotation marks</source>
        <translation>In Anführungszeichen setzen</translation>
    </message>
    <message>
        <source>Add this key; for a key inside another key, type outer.inner</source>
        <translation>Diesen Schlüssel hinzufügen; einen Schlüssel in einem anderen als außen.innen schreiben</translation>
    </message>
    <message>
        <source>Front matter keys</source>
        <translation>Schlüssel der Kopfdaten</translation>
    </message>
    <message>
        <source>Key to add</source>
        <translation>Hinzuzufügender Schlüssel</translation>
    </message>
    <message>
        <source>Move the cursor to the front matter</source>
        <translation>Die Schreibmarke in die Kopfdaten setzen</translation>
    </message>
    <message>
        <source>Move the cursor to this line in the source</source>
        <translation>Die Schreibmarke im Quelltext dorthin setzen</translation>
    </message>
    <message>
        <source>Put quotation marks around the values that need them</source>
        <translation>Werte, die es brauchen, in Anführungszeichen setzen</translation>
    </message>
    <message>
        <source>Put the whole description in quotation marks so that the agent reads all of it</source>
        <translation>Die ganze Zeile in Anführungszeichen setzen, damit der Agent sie ganz liest</translation>
    </message>
    <message>
        <source>Remove {key}</source>
        <translation>{key} entfernen</translation>
    </message>
    <message>
        <source>Repair</source>
        <translation>Reparieren</translation>
    </message>
    <message>
        <source>Show line {n}</source>
        <translation>Zeile {n} zeigen</translation>
    </message>
    <message>
        <source>Show the source</source>
        <translation>Quelltext zeigen</translation>
    </message>
    <message>
        <source>The agent does not see this description, because it stops reading at {sign}.</source>
        <translation>Der Agent sieht diese Beschreibung nicht, weil er bei {sign} aufhört zu lesen.</translation>
    </message>
    <message>
        <source>The agent sees only “{read}” of this description, because it stops reading at {sign}.</source>
        <translation>Der Agent sieht von dieser Beschreibung nur „{read}“, weil er bei {sign} aufhört zu lesen.</translation>
    </message>
    <message>
        <source>The description has {n} characters; the agent shows the first {limit}.</source>
        <translation>Die Beschreibung hat {n} Zeichen; der Agent zeigt die ersten {limit}.</translation>
    </message>
    <message>
        <source>The form cannot write this value without changing other text. Edit the source instead.</source>
        <translation>Das Formular kann diesen Wert nicht schreiben, ohne anderen Text zu ändern. Bearbeiten Sie stattdessen den Quelltext.</translation>
    </message>
    <message>
        <source>The front matter has no keys, so the agent shows no description.</source>
        <translation>Die Kopfdaten enthalten keine Schlüssel, daher zeigt der Agent keine Beschreibung.</translation>
    </message>
    <message>
        <source>The front matter is not closed: the second --- line is missing.</source>
        <translation>Die Kopfdaten enden nicht: Eine zweite Zeile mit --- fehlt.</translation>
    </message>
    <message>
        <source>The front matter is not valid YAML, so the agent shows no description.</source>
        <translation>Die Kopfdaten sind kein gültiges YAML, daher zeigt der Agent keine Beschreibung.</translation>
    </message>
    <message>
        <source>The front matter is too long, so the agent does not read it.</source>
        <translation>Die Kopfdaten enden zu spät; der Agent sieht sie nicht.</translation>
    </message>
    <message>
        <source>The value of this key is a list or a mapping; edit it in the source.</source>
        <translation>Dieser Schlüssel enthält eine Liste oder Zuordnung; im Quelltext bearbeiten.</translation>
    </message>
    <message>
        <source>This change would make the front matter too long for the agent to read. Nothing was changed.</source>
        <translation>Damit wären die Kopfdaten länger, als der Agent liest; nichts wurde geändert.</translation>
    </message>
    <message>
        <source>This value is not text; edit it in the source.</source>
        <translation>Das ist kein Text; im Quelltext bearbeiten.</translation>
    </message>
</context>
<context>
    <name>HandControl</name>
    <message>
        <source>Converted {name} to UTF-8</source>
        <translation>{name} in UTF-8 umgewandelt</translation>
    </message>
    <message>
        <source>Deleted {name}</source>
        <translation>{name} gelöscht</translation>
    </message>
    <message>
        <source>Memories can be moved only between the scopes of one workspace. To move a memory anywhere else, copy its text into a new memory there.</source>
        <translation>Notizen lassen sich zwischen den Bereichen eines Workspace verschieben. Um eine anderswohin zu bringen, kopieren Sie ihren Text dort in eine neue Notiz.</translation>
    </message>
    <message>
        <source>Moved {what} to {folder}</source>
        <translation>{what} nach {folder} verschoben</translation>
    </message>
    <message>
        <source>No file manager responded.</source>
        <translation>Kein Dateimanager hat geantwortet.</translation>
    </message>
    <message>
        <source>Nothing was moved. {reason}</source>
        <translation>Nichts wurde verschoben. {reason}</translation>
    </message>
    <message>
        <source>Open {path} yourself.</source>
        <translation>Öffnen Sie {path} selbst.</translation>
    </message>
    <message>
        <source>Pinned {what}</source>
        <translation>{what} angeheftet</translation>
    </message>
    <message>
        <source>Pinned {what}: consolidations never delete or rename pinned memories. The agent itself does not use pins.</source>
        <translation>{what} angeheftet: Keine Konsolidierung löscht angeheftete Notizen oder benennt sie um. Der Agent selbst kennt keine Anheftungen.</translation>
    </message>
    <message>
        <source>Redone: {name}</source>
        <translation>Wiederholt: {name}</translation>
    </message>
    <message>
        <source>Renamed {old} to {new}</source>
        <translation>{old} in {new} umbenannt</translation>
    </message>
    <message>
        <source>The folder could not be opened.</source>
        <translation>Der Ordner konnte nicht geöffnet werden.</translation>
    </message>
    <message>
        <source>This scope is not available.</source>
        <translation>Dieser Bereich ist nicht verfügbar.</translation>
    </message>
    <message>
        <source>Unpinned {what}</source>
        <translation>{what} gelöst</translation>
    </message>
</context>
<context>
    <name>HeadersLine</name>
    <message>
        <source>Header: value; Another-Header: value</source>
        <translation>Header: Wert; Weiterer-Header: Wert</translation>
    </message>
</context>
<context>
    <name>HomeCloser</name>
    <message>
        <source>A run is in progress in {home}. Cancel the run or wait until it has finished, then close the home.</source>
        <translation>In {home} ist ein Lauf im Gang. Brechen Sie ihn ab oder warten Sie, bis er endet, und schließen Sie das Home dann.</translation>
    </message>
    <message>
        <source>Closed {home}. Its files remain on disk.</source>
        <translation>{home} ist geschlossen. Die Dateien darin bleiben auf der Platte.</translation>
    </message>
</context>
<context>
    <name>HomeSession</name>
    <message>
        <source>Demo</source>
        <translation>Demo</translation>
    </message>
    <message>
        <source>The running agent overwrites pins and use counts. Reverie keeps its own changes ({n}) and writes them again until the agent restarts.</source>
        <translation>Der laufende Agent überschreibt Anheftungen und Nutzungszahlen. Reverie behält seine eigenen Änderungen ({n}) und schreibt sie immer wieder, bis der Agent neu startet.</translation>
    </message>
</context>
<context>
    <name>HunkView</name>
    <message>
        <source>Accept</source>
        <translation>Annehmen</translation>
    </message>
    <message>
        <source>Difference</source>
        <translation>Unterschied</translation>
    </message>
    <message>
        <source>Edit…</source>
        <translation>Bearbeiten…</translation>
    </message>
    <message>
        <source>Reject</source>
        <translation>Ablehnen</translation>
    </message>
    <message>
        <source>Take back</source>
        <translation>Zurücknehmen</translation>
    </message>
    <message>
        <source>edited by you</source>
        <translation>in Ihren Worten</translation>
    </message>
    <message>
        <source>rejected</source>
        <translation>abgelehnt</translation>
    </message>
    <message>
        <source>to be undone</source>
        <translation>geht zurück</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>zurückgenommen</translation>
    </message>
    <message>
        <source>… the rest is too long to show here.</source>
        <translation>… der Rest ist zu lang, um ihn hier zu zeigen.</translation>
    </message>
</context>
<context>
    <name>IndexControl</name>
    <message>
        <source>The agent does not load this part.</source>
        <translation>Der Agent lädt dies nicht.</translation>
    </message>
    <message>
        <source>The index and links in other memories were not updated; edit them by hand.</source>
        <translation>Der Index und die Links in anderen Notizen wurden nicht angepasst; bearbeiten Sie sie von Hand.</translation>
    </message>
</context>
<context>
    <name>IndexPanel</name>
    <message>
        <source>Go to the line, or open the memory</source>
        <translation>Zur Zeile gehen oder die Notiz öffnen</translation>
    </message>
    <message>
        <source>Index check</source>
        <translation>Indexpflege</translation>
    </message>
    <message>
        <source>Sho&amp;w</source>
        <translation>&amp;Zeigen</translation>
    </message>
    <message>
        <source>Show which lines of the index will change, then fix the checked problems</source>
        <translation>Zeigen, welche Zeilen des Index sich ändern, und dann die angehakten Probleme beheben</translation>
    </message>
</context>
<context>
    <name>Inspector</name>
    <message>
        <source>About</source>
        <translation>Betrifft</translation>
    </message>
    <message>
        <source>About this memory</source>
        <translation>Zu dieser Notiz</translation>
    </message>
    <message>
        <source>All changes</source>
        <translation>Alle Änderungen</translation>
    </message>
    <message>
        <source>History</source>
        <translation>Geschichte</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>Warnings</source>
        <translation>Warnungen</translation>
    </message>
</context>
<context>
    <name>InspectorControl</name>
    <message>
        <source>last used {when}</source>
        <translation>zuletzt benutzt {when}</translation>
    </message>
    <message>
        <source>not used yet</source>
        <translation>noch nicht benutzt</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
</context>
<context>
    <name>JobsDialog</name>
    <message>
        <source>&amp;Open transcript</source>
        <translation>Mitschrift &amp;öffnen</translation>
    </message>
    <message>
        <source>Job</source>
        <translation>Aufgabe</translation>
    </message>
    <message>
        <source>Jobs</source>
        <translation>Aufgaben</translation>
    </message>
    <message>
        <source>Next attempt</source>
        <translation>Nächster Versuch</translation>
    </message>
    <message>
        <source>Open the transcript that the job processes</source>
        <translation>Worum es bei der Aufgabe geht</translation>
    </message>
    <message>
        <source>Reason</source>
        <translation>Grund</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>Subject</source>
        <translation>Betrifft</translation>
    </message>
    <message>
        <source>The agent has no background jobs.</source>
        <translation>Der Agent hat keine Hintergrundaufgaben.</translation>
    </message>
    <message>
        <source>The agent's background jobs</source>
        <translation>Hintergrundaufgaben des Agenten</translation>
    </message>
    <message>
        <source>When</source>
        <translation>Wann</translation>
    </message>
    <message>
        <source>when the agent next starts</source>
        <translation>beim nächsten Start des Agenten</translation>
    </message>
</context>
<context>
    <name>JudgedDialog</name>
    <message>
        <source>&amp;Scope</source>
        <translation>&amp;Bereich</translation>
    </message>
    <message>
        <source>Scope</source>
        <translation>Bereich</translation>
    </message>
</context>
<context>
    <name>LazyTabs</name>
    <message>
        <source>Changes</source>
        <translation>Änderungen</translation>
    </message>
    <message>
        <source>Traces</source>
        <translation>Traces</translation>
    </message>
    <message>
        <source>Transcripts</source>
        <translation>Mitschriften</translation>
    </message>
</context>
<context>
    <name>LinesDialog</name>
    <message>
        <source>Fix</source>
        <translation>Beheben</translation>
    </message>
    <message>
        <source>Fix the index</source>
        <translation>Index berichtigen</translation>
    </message>
    <message>
        <source>Lines to change</source>
        <translation>Zeilen, die sich ändern</translation>
    </message>
    <message>
        <source>Move</source>
        <translation>Verschieben</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Rename and update links</source>
        <translation>Mit Links umbenennen</translation>
    </message>
    <message>
        <source>{file}, line {line}</source>
        <translation>{file}, Zeile {line}</translation>
    </message>
</context>
<context>
    <name>LinkDialog</name>
    <message>
        <source>&amp;Open in browser</source>
        <translation>Im Br&amp;owser öffnen</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Anyone could have written this memory, so check the address first:</source>
        <translation>Diese Notiz könnte von irgendwem stammen. Prüfen Sie zuerst die Adresse:</translation>
    </message>
    <message>
        <source>Open this link?</source>
        <translation>Diesen Link öffnen?</translation>
    </message>
</context>
<context>
    <name>LoadedText</name>
    <message>
        <source>Loaded text</source>
        <translation>Der Text, wie er geladen wird</translation>
    </message>
    <message>
        <source>Nothing is loaded.</source>
        <translation>Nichts wird geladen.</translation>
    </message>
</context>
<context>
    <name>LogDetail</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Select an entry</source>
        <translation>Eintrag auswählen</translation>
    </message>
    <message>
        <source>Show the checks</source>
        <translation>Prüfungen zeigen</translation>
    </message>
    <message>
        <source>Show the run</source>
        <translation>Den Lauf zeigen</translation>
    </message>
</context>
<context>
    <name>LogView</name>
    <message>
        <source>&amp;Only this workspace</source>
        <translation>&amp;Nur dieser Workspace</translation>
    </message>
    <message>
        <source>Log, newest first</source>
        <translation>Protokoll, Neuestes zuerst</translation>
    </message>
    <message>
        <source>No matching entries</source>
        <translation>Keine passenden Einträge</translation>
    </message>
    <message>
        <source>Search the log</source>
        <translation>Protokoll durchsuchen</translation>
    </message>
    <message>
        <source>The log is empty</source>
        <translation>Das Protokoll ist leer</translation>
    </message>
    <message>
        <source>The log shows what the background services do, what they skip, and why.</source>
        <translation>Es zeigt, was die Hintergrunddienste tun oder lassen und warum.</translation>
    </message>
    <message>
        <source>‹ Runs</source>
        <translation>‹ Läufe</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Memory</source>
        <translation>Notizen</translation>
    </message>
    <message>
        <source>No open home has the project {path}.</source>
        <translation>Kein geöffnetes Home hat ein Projekt {path}.</translation>
    </message>
    <message>
        <source>No open home has the workspace {id}.</source>
        <translation>Kein geöffnetes Home hat einen Workspace {id}.</translation>
    </message>
    <message>
        <source>This agent has no orphaned stores (notes whose project no longer exists).</source>
        <translation>Dieser Agent hat keine verwaisten Ablagen (Notizen, deren Projekt es nicht mehr gibt).</translation>
    </message>
    <message>
        <source>This home could not be opened</source>
        <translation>Dieses Home konnte nicht geöffnet werden</translation>
    </message>
    <message>
        <source>This home does not have the project {path}.</source>
        <translation>In diesem Home gibt es kein Projekt {path}.</translation>
    </message>
    <message>
        <source>This home does not have the workspace {id}.</source>
        <translation>In diesem Home gibt es keinen Workspace {id}.</translation>
    </message>
    <message>
        <source>This home has no orphaned stores (notes whose project no longer exists).</source>
        <translation>Dieses Home hat keine verwaisten Ablagen (Notizen, deren Projekt es nicht mehr gibt).</translation>
    </message>
    <message>
        <source>This memory no longer exists: {path}</source>
        <translation>Diese Notiz gibt es jetzt nicht: {path}</translation>
    </message>
    <message>
        <source>Views</source>
        <translation>Ansichten</translation>
    </message>
    <message>
        <source>{place} – {home}</source>
        <translation>{place} – {home}</translation>
    </message>
</context>
<context>
    <name>MemorySearch</name>
    <message>
        <source>Building the search index: {n} files so far.</source>
        <translation>Der Index wird aufgebaut: bisher {n} Dateien.</translation>
    </message>
    <message>
        <source>No results</source>
        <translation>Keine Treffer</translation>
    </message>
    <message>
        <source>Search all memories</source>
        <translation>Alle Notizen durchsuchen</translation>
    </message>
    <message>
        <source>Search for words, "exact phrases" or /patterns/; filter with scope:project, home:mux, pinned:yes, changed:&lt;7d, by:agent</source>
        <translation>Suche nach Wörtern, "genauen Wortfolgen" oder /Mustern/; enger mit scope:project, home:mux, pinned:yes, changed:&lt;7d, by:agent</translation>
    </message>
    <message>
        <source>Top {n} results</source>
        <translation>Die besten {n} Treffer</translation>
    </message>
</context>
<context>
    <name>MemoryTab</name>
    <message>
        <source>Filter the list of memories</source>
        <translation>Die Liste der Notizen filtern</translation>
    </message>
</context>
<context>
    <name>MemoryTreeModel</name>
    <message>
        <source>A name cannot contain a slash. To move the memory, use “Move to…”.</source>
        <translation>Ein Name hat keinen Schrägstrich; „Verschieben nach…“ verschiebt die Notiz.</translation>
    </message>
    <message>
        <source>Another memory with this name has unsaved text. Choose another name.</source>
        <translation>Eine andere Notiz mit diesem Namen hat ungespeicherten Text. Wählen Sie einen anderen Namen.</translation>
    </message>
    <message>
        <source>Changed by someone else since you last viewed it</source>
        <translation>Von jemand anderem geändert, seit Sie es gesehen haben</translation>
    </message>
    <message>
        <source>Deleted by someone else since you last viewed it</source>
        <translation>Von jemand anderem gelöscht, seit Sie es gesehen haben</translation>
    </message>
    <message>
        <source>Enter a name.</source>
        <translation>Ein Name fehlt.</translation>
    </message>
    <message>
        <source>Last used {when}</source>
        <translation>Zuletzt benutzt {when}</translation>
    </message>
    <message>
        <source>Last written {when}</source>
        <translation>Zuletzt geschrieben {when}</translation>
    </message>
    <message>
        <source>New; you have not viewed this memory yet</source>
        <translation>Neu; noch nicht gesehen</translation>
    </message>
    <message>
        <source>Not saved yet</source>
        <translation>Noch nicht gespeichert</translation>
    </message>
    <message>
        <source>Pinned: a consolidation never deletes or renames this memory</source>
        <translation>Angeheftet: Eine Konsolidierung löscht sie nie und benennt sie nie um</translation>
    </message>
    <message>
        <source>Reverie keeps this pin change; the running agent will read it when it restarts</source>
        <translation>Reverie behält diese Änderung der Anheftung; der laufende Agent liest sie, wenn er neu startet</translation>
    </message>
    <message>
        <source>The agent does not see this memory: {reason}</source>
        <translation>Der Agent sieht sie nicht: {reason}</translation>
    </message>
    <message>
        <source>The agent reads this file together with its memories.</source>
        <translation>Der Agent liest sie neben seinen Notizen.</translation>
    </message>
    <message>
        <source>The memory already has this name.</source>
        <translation>Die Notiz heißt schon so.</translation>
    </message>
    <message>
        <source>The name must not start with a dot, because such files are never listed.</source>
        <translation>Ein Name, der mit einem Punkt beginnt, wird nie aufgelistet.</translation>
    </message>
    <message>
        <source>This name is not valid: {problem}</source>
        <translation>Dieser Name ist ungültig: {problem}</translation>
    </message>
    <message>
        <source>changed since you last viewed it</source>
        <translation>geändert, seit Sie es gesehen haben</translation>
    </message>
    <message>
        <source>deleted</source>
        <translation>gelöscht</translation>
    </message>
    <message>
        <source>needs attention</source>
        <translation>es gibt Hinweise</translation>
    </message>
    <message>
        <source>new</source>
        <translation>neu</translation>
    </message>
    <message>
        <source>not saved</source>
        <translation>nicht gespeichert</translation>
    </message>
    <message>
        <source>pin change not yet read by the running agent</source>
        <translation>geänderte Anheftung dem laufenden Agenten noch nicht bekannt</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
    <message>
        <source>read-only</source>
        <translation>nur zum Lesen</translation>
    </message>
    <message>
        <source>regenerated by the agent</source>
        <translation>vom Agenten neu erzeugt</translation>
    </message>
    <message>
        <source>warning</source>
        <translation>Warnung</translation>
    </message>
    <message>
        <source>{name} already exists.</source>
        <translation>{name} ist schon da.</translation>
    </message>
</context>
<context>
    <name>MemoryTreeView</name>
    <message>
        <source>Memories</source>
        <translation>Notizen</translation>
    </message>
</context>
<context>
    <name>MergeMemoriesDialog</name>
    <message>
        <source>&amp;Merge</source>
        <translation>&amp;Zusammenführen</translation>
    </message>
    <message>
        <source>Checking for lines that would be lost…</source>
        <translation>Suche nach Zeilen, die verloren gingen…</translation>
    </message>
    <message>
        <source>I &amp;no longer need these lines</source>
        <translation>Diese Zeilen werden nicht &amp;mehr gebraucht</translation>
    </message>
    <message>
        <source>Lines that would be lost</source>
        <translation>Zeilen, die verloren gingen</translation>
    </message>
    <message>
        <source>Memories &amp;to merge</source>
        <translation>&amp;Aufnehmen</translation>
    </message>
    <message>
        <source>Memories to merge</source>
        <translation>Zusammenzuführende Notizen</translation>
    </message>
    <message>
        <source>Memory to &amp;keep</source>
        <translation>&amp;Behalten als</translation>
    </message>
    <message>
        <source>Memory to keep</source>
        <translation>Die Erinnerung, die bleibt</translation>
    </message>
    <message>
        <source>Merge memories</source>
        <translation>Notizen zusammenführen</translation>
    </message>
    <message>
        <source>Merged text</source>
        <translation>Der zusammengeführte Text</translation>
    </message>
    <message>
        <source>No lines would be lost.</source>
        <translation>Es ginge keine Zeile verloren.</translation>
    </message>
</context>
<context>
    <name>MergeStoreDialog</name>
    <message>
        <source>&amp;Merge</source>
        <translation>&amp;Zusammenführen</translation>
    </message>
    <message>
        <source>Merge orphaned notes</source>
        <translation>Verwaiste Notizen zusammenführen</translation>
    </message>
    <message>
        <source>Merge {store} into {target}</source>
        <translation>{store} mit {target} zusammenführen</translation>
    </message>
    <message>
        <source>No files will be changed.</source>
        <translation>Keine Datei wird geändert.</translation>
    </message>
    <message>
        <source>Orphaned files</source>
        <translation>Verwaiste Dateien</translation>
    </message>
</context>
<context>
    <name>MergeView</name>
    <message>
        <source>= already in kept memory   → moved to it   ≈ reworded in it   ✕ removed</source>
        <translation>= schon in der behaltenen Notiz   → dorthin verschoben   ≈ dort in anderen Worten   ✕ entfernt</translation>
    </message>
    <message>
        <source>Memory to keep</source>
        <translation>Die Erinnerung, die bleibt</translation>
    </message>
    <message>
        <source>What happens to each line of the memory to remove</source>
        <translation>Was mit jeder Zeile der Notiz geschieht, die entfernt wird</translation>
    </message>
    <message>
        <source>{name} (kept)</source>
        <translation>{name} (bleibt)</translation>
    </message>
    <message>
        <source>{name} (removed)</source>
        <translation>{name} (geht)</translation>
    </message>
</context>
<context>
    <name>MessageBar</name>
    <message>
        <source>Dismiss</source>
        <translation>Ausblenden</translation>
    </message>
</context>
<context>
    <name>MessagesView</name>
    <message>
        <source>(nothing)</source>
        <translation>(nichts)</translation>
    </message>
    <message>
        <source>Attempt {n}, the model's response</source>
        <translation>Versuch {n}, das Modell</translation>
    </message>
    <message>
        <source>Attempt {n}, {role} message</source>
        <translation>Versuch {n}, Nachricht „{role}“</translation>
    </message>
    <message>
        <source>Conversation, {role} {n}</source>
        <translation>Gespräch, {role} {n}</translation>
    </message>
    <message>
        <source>Global instructions</source>
        <translation>Globale Anweisungen</translation>
    </message>
    <message>
        <source>Memory before the run</source>
        <translation>Notizen vor dem Lauf</translation>
    </message>
    <message>
        <source>Messages</source>
        <translation>Nachrichten</translation>
    </message>
    <message>
        <source>Project instructions</source>
        <translation>Anweisungen des Projekts</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>System-Prompt</translation>
    </message>
    <message>
        <source>{n} more messages are on the Raw page.</source>
        <translation>{n} weitere Nachrichten stehen auf der Seite „Rohdaten“.</translation>
    </message>
</context>
<context>
    <name>MissedView</name>
    <message>
        <source>Attempt {n}, {tool}</source>
        <translation>Versuch {n}, {tool}</translation>
    </message>
    <message>
        <source>Edits that failed because the text to replace was not found</source>
        <translation>Änderungen, die scheiterten, weil der zu ersetzende Text nicht gefunden wurde</translation>
    </message>
    <message>
        <source>No similar text was found in the memory.</source>
        <translation>Nichts in der Notiz ist ihm ähnlich.</translation>
    </message>
    <message>
        <source>Similar text in the memory</source>
        <translation>In der Notiz steht</translation>
    </message>
    <message>
        <source>Text that the model wanted to replace</source>
        <translation>Text, den das Modell ersetzen wollte</translation>
    </message>
    <message>
        <source>Text that the model wanted to write</source>
        <translation>Text, den das Modell schreiben wollte</translation>
    </message>
    <message>
        <source>The text to replace is not in the memory.</source>
        <translation>Der zu ersetzende Text steht nicht in der Notiz.</translation>
    </message>
</context>
<context>
    <name>ModelDialog</name>
    <message>
        <source>&amp;Run</source>
        <translation>&amp;Ausführen</translation>
    </message>
    <message>
        <source>Enter the model as provider:model, for example ollama:qwen3:8b. You can test a model in Settings.</source>
        <translation>Als provider:modell schreiben, etwa ollama:qwen3:8b. In den Einstellungen lässt es sich testen.</translation>
    </message>
    <message>
        <source>Model, in the form provider:model</source>
        <translation>Modell, als provider:modell</translation>
    </message>
    <message>
        <source>Run with a model</source>
        <translation>Mit einem Modell ausführen</translation>
    </message>
</context>
<context>
    <name>ModelForm</name>
    <message>
        <source>&amp;Test</source>
        <translation>&amp;Testen</translation>
    </message>
    <message>
        <source>&amp;Use for consolidation</source>
        <translation>Zum Konsolidieren ver&amp;wenden</translation>
    </message>
    <message>
        <source>Asking {model}…</source>
        <translation>{model} wird gefragt…</translation>
    </message>
    <message>
        <source>Asking {service} for its models…</source>
        <translation>{service} wird nach Modellen gefragt …</translation>
    </message>
    <message>
        <source>Choose a service, or type a name to add one</source>
        <translation>Einen Dienst wählen oder den Namen eines anderen eingeben</translation>
    </message>
    <message>
        <source>For&amp;get key</source>
        <translation>Schlüssel ver&amp;gessen</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>Schlüssel</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Open the list to see the models of the service</source>
        <translation>Die Liste zeigt, was der Dienst anbietet</translation>
    </message>
    <message>
        <source>Re&amp;move</source>
        <translation>Ent&amp;fernen</translation>
    </message>
    <message>
        <source>Remove the key from the keyring</source>
        <translation>Den Schlüssel aus dem Schlüsselbund nehmen</translation>
    </message>
    <message>
        <source>Remove your settings for this service</source>
        <translation>Die eigenen Einstellungen dieses Dienstes entfernen</translation>
    </message>
    <message>
        <source>Send the model one request to test it</source>
        <translation>Dem Modell zur Probe eine Anfrage senden</translation>
    </message>
    <message>
        <source>Service</source>
        <translation>Dienst</translation>
    </message>
    <message>
        <source>Stored in the system's keyring, never in a file</source>
        <translation>Liegt im Schlüsselbund des Systems, nie in einer Datei</translation>
    </message>
    <message>
        <source>The name of a model that this service offers</source>
        <translation>Der Name eines Modells, das dieser Dienst anbietet</translation>
    </message>
    <message>
        <source>The name of a service can contain only letters, digits, dots, hyphens and underscores.</source>
        <translation>Der Name eines Dienstes besteht aus Buchstaben, Ziffern, Punkten, Binde- und Unterstrichen.</translation>
    </message>
    <message>
        <source>The service {name} has no address yet. Enter its address.</source>
        <translation>Der Dienst {name} hat noch keine Adresse.</translation>
    </message>
    <message>
        <source>{service} offers no models.</source>
        <translation>{service} bietet kein Modell an.</translation>
    </message>
</context>
<context>
    <name>MoveDialog</name>
    <message>
        <source>&amp;Folder</source>
        <translation>&amp;Ordner</translation>
    </message>
    <message>
        <source>&amp;Name</source>
        <translation>&amp;Name</translation>
    </message>
    <message>
        <source>A folder cannot be moved into itself.</source>
        <translation>Ein Ordner kann nicht in sich selbst verschoben werden.</translation>
    </message>
    <message>
        <source>Choose a folder to move to.</source>
        <translation>Wählen Sie, wohin.</translation>
    </message>
    <message>
        <source>Enter a name.</source>
        <translation>Ein Name fehlt.</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>Keep &amp;both: add a number to the name</source>
        <translation>&amp;Beide behalten: eine Nummer an den Namen hängen</translation>
    </message>
    <message>
        <source>Move</source>
        <translation>Verschieben</translation>
    </message>
    <message>
        <source>Move {what}</source>
        <translation>{what} verschieben</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>The folder already contains: {names}</source>
        <translation>Da ist schon etwas dieses Namens: {names}</translation>
    </message>
    <message>
        <source>The name must not start with a dot, because such files are never listed.</source>
        <translation>Ein Name, der mit einem Punkt beginnt, wird nie aufgelistet.</translation>
    </message>
    <message>
        <source>This path is not valid: {problem}</source>
        <translation>Dieser Pfad ist ungültig: {problem}</translation>
    </message>
    <message>
        <source>top level of the scope</source>
        <translation>oberste Ebene des Bereichs</translation>
    </message>
</context>
<context>
    <name>NotesControl</name>
    <message>
        <source>&amp;Update notes</source>
        <translation>Notizen akt&amp;ualisieren</translation>
    </message>
    <message>
        <source>Ca&amp;ncel</source>
        <translation>A&amp;bbrechen</translation>
    </message>
    <message>
        <source>Cancelled; nothing was changed.</source>
        <translation>Abgebrochen; nichts wurde geändert.</translation>
    </message>
    <message>
        <source>Current versions of Claude Code do not read session notes.</source>
        <translation>Das heutige Claude Code liest sie nicht.</translation>
    </message>
    <message>
        <source>Session notes: empty so far.</source>
        <translation>Sitzungsnotizen: noch nichts notiert.</translation>
    </message>
    <message>
        <source>Session notes: not created yet.</source>
        <translation>Sitzungsnotizen: noch keine.</translation>
    </message>
    <message>
        <source>Session notes: updating…</source>
        <translation>Sitzungsnotizen: werden aktualisiert …</translation>
    </message>
    <message>
        <source>Session notes: {tokens} of {limit} tokens</source>
        <translation>Sitzungsnotizen: {tokens} von {limit} Tokens</translation>
    </message>
    <message>
        <source>Stop the update before it changes the notes</source>
        <translation>Anhalten, bevor die Notizen geändert werden</translation>
    </message>
    <message>
        <source>Update this session's notes now with {engine}. {why}</source>
        <translation>Die Notizen dieser Sitzung jetzt mit {engine} aktualisieren. {why}</translation>
    </message>
    <message>
        <source>no engine</source>
        <translation>kein Verfahren</translation>
    </message>
    <message>
        <source>updated {when}</source>
        <translation>aktualisiert {when}</translation>
    </message>
</context>
<context>
    <name>NotesRow</name>
    <message>
        <source>&amp;Update notes</source>
        <translation>Notizen akt&amp;ualisieren</translation>
    </message>
    <message>
        <source>Problems</source>
        <translation>Probleme</translation>
    </message>
</context>
<context>
    <name>OpenHomes</name>
    <message>
        <source>{root} on {machine} was not opened, because its home ID is the same as that of {home}, which is already open. Close that home first.</source>
        <translation>{root} auf {machine} wurde nicht geöffnet, weil es dieselbe Home-Kennung hat wie {home}, das schon offen ist. Schließen Sie zuerst jenes Home.</translation>
    </message>
</context>
<context>
    <name>OrphansControl</name>
    <message>
        <source>After the removal, the agent will not find these notes even if the project comes back.</source>
        <translation>Danach findet der Agent diese Notizen auch dann nicht mehr, wenn das Projekt wieder da ist.</translation>
    </message>
    <message>
        <source>Keep the notes</source>
        <translation>Notizen behalten</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Remove the orphaned notes…</source>
        <translation>Die verwaisten Notizen entfernen…</translation>
    </message>
    <message>
        <source>Remove {name} with its {notes}? The history keeps the notes, and you can undo the removal.</source>
        <translation>{name} mit {notes} entfernen? Die Geschichte bewahrt sie auf, und es lässt sich rückgängig machen.</translation>
    </message>
    <message>
        <source>Removed {name}.</source>
        <translation>{name} entfernt.</translation>
    </message>
    <message>
        <source>The history keeps the removed notes</source>
        <translation>Die Geschichte bewahrt auf, was entfernt wird</translation>
    </message>
</context>
<context>
    <name>OrphansPage</name>
    <message>
        <source>&amp;History…</source>
        <translation>&amp;Geschichte…</translation>
    </message>
    <message>
        <source>&amp;Preview the merge…</source>
        <translation>&amp;Vorschau des Zusammenführens…</translation>
    </message>
    <message>
        <source>&amp;Remove these notes…</source>
        <translation>Diese Notizen &amp;entfernen…</translation>
    </message>
    <message>
        <source>Choose a project</source>
        <translation>Projekt auswählen</translation>
    </message>
    <message>
        <source>Content (read-only)</source>
        <translation>Inhalt, nur zum Lesen</translation>
    </message>
    <message>
        <source>Every note in this home is global or belongs to an existing project or workspace.</source>
        <translation>Jede Notiz in diesem Home ist global oder gehört zu einem vorhandenen Projekt oder Workspace.</translation>
    </message>
    <message>
        <source>Merge &amp;into:</source>
        <translation>Zusammen&amp;führen mit:</translation>
    </message>
    <message>
        <source>Merge into</source>
        <translation>Zusammenführen mit</translation>
    </message>
    <message>
        <source>No orphaned stores</source>
        <translation>Nichts ist verwaist</translation>
    </message>
    <message>
        <source>Orphaned files</source>
        <translation>Verwaiste Dateien</translation>
    </message>
    <message>
        <source>Orphaned stores</source>
        <translation>Verwaiste Ablagen</translation>
    </message>
    <message>
        <source>Reverie keeps no history of these notes, so you can remove them only with another program.</source>
        <translation>Reverie bewahrt für diese Notizen keine Geschichte auf; deshalb können Sie sie nur mit einem anderen Programm entfernen.</translation>
    </message>
    <message>
        <source>Reverie keeps no history of these notes.</source>
        <translation>Reverie bewahrt für diese Notizen keine Geschichte auf.</translation>
    </message>
    <message>
        <source>Show who changed these notes and when, and restore earlier versions</source>
        <translation>Zeigen, wer diese Notizen wann geändert hat, und frühere Fassungen wiederherstellen</translation>
    </message>
    <message>
        <source>These notes belong in global memory.</source>
        <translation>Sie gehören zu den globalen Notizen.</translation>
    </message>
    <message>
        <source>You cannot remove these notes, because the agent still loads them in the checkout that they belong to.</source>
        <translation>Sie können diese Notizen nicht entfernen, weil der Agent sie in dem Checkout, zu dem sie gehören, weiterhin lädt.</translation>
    </message>
</context>
<context>
    <name>Pair</name>
    <message>
        <source>Keep the &amp;left</source>
        <translation>&amp;Linke behalten</translation>
    </message>
    <message>
        <source>Keep the &amp;right</source>
        <translation>&amp;Rechte behalten</translation>
    </message>
    <message>
        <source>Keep this memory unchanged and delete the other memory; Undo restores the deleted memory</source>
        <translation>Diese Notiz behalten, wie sie ist, und die andere löschen; Rückgängig holt sie zurück</translation>
    </message>
</context>
<context>
    <name>Palette</name>
    <message>
        <source>Command palette</source>
        <translation>Befehlspalette</translation>
    </message>
    <message>
        <source>Go to</source>
        <translation>Gehe zu</translation>
    </message>
    <message>
        <source>Matches</source>
        <translation>Was passt</translation>
    </message>
    <message>
        <source>Search for a command, setting, memory, workspace or home</source>
        <translation>Befehl, Einstellung, Notiz, Workspace oder Home suchen</translation>
    </message>
    <message>
        <source>Search for a memory, workspace, home or setting</source>
        <translation>Eine Notiz, ein Workspace, ein Home oder eine Einstellung</translation>
    </message>
</context>
<context>
    <name>PathDialog</name>
    <message>
        <source>&amp;Description</source>
        <translation>&amp;Beschreibung</translation>
    </message>
    <message>
        <source>&amp;Path</source>
        <translation>&amp;Pfad</translation>
    </message>
    <message>
        <source>A file or folder with this path already exists.</source>
        <translation>Da ist schon etwas.</translation>
    </message>
    <message>
        <source>Description</source>
        <translation>Beschreibung</translation>
    </message>
    <message>
        <source>Enter a name.</source>
        <translation>Ein Name fehlt.</translation>
    </message>
    <message>
        <source>One line that tells the agent when to read this memory (optional)</source>
        <translation>Eine Zeile, die dem Agenten sagt, wann er sie lesen soll (freiwillig)</translation>
    </message>
    <message>
        <source>Path within the scope</source>
        <translation>Pfad im Bereich</translation>
    </message>
    <message>
        <source>Te&amp;mplate</source>
        <translation>&amp;Vorlage</translation>
    </message>
    <message>
        <source>The name must not start with a dot, because such files are never listed.</source>
        <translation>Ein Name, der mit einem Punkt beginnt, wird nie aufgelistet.</translation>
    </message>
    <message>
        <source>This path is not valid: {problem}</source>
        <translation>Dieser Pfad ist ungültig: {problem}</translation>
    </message>
    <message>
        <source>topic/notes.md</source>
        <translation>thema/notizen.md</translation>
    </message>
</context>
<context>
    <name>Picker</name>
    <message>
        <source>Homes, projects and workspaces</source>
        <translation>Homes, Projekte und Workspaces</translation>
    </message>
</context>
<context>
    <name>PickerModel</name>
    <message>
        <source>Orphaned stores ({n})</source>
        <translation>Verwaiste Ablagen ({n})</translation>
    </message>
    <message>
        <source>Several projects</source>
        <translation>Mehrere Projekte</translation>
    </message>
    <message>
        <source>archived</source>
        <translation>archiviert</translation>
    </message>
    <message>
        <source>cannot be opened</source>
        <translation>lässt sich nicht öffnen</translation>
    </message>
    <message>
        <source>not responding</source>
        <translation>antwortet nicht</translation>
    </message>
    <message>
        <source>several projects</source>
        <translation>mehrere Projekte</translation>
    </message>
</context>
<context>
    <name>PreviewPane</name>
    <message>
        <source>No program on this computer can open {address}</source>
        <translation>Nichts auf diesem Rechner öffnet {address}</translation>
    </message>
    <message>
        <source>Rendered memory text</source>
        <translation>Gestalteter Text der Notiz</translation>
    </message>
    <message>
        <source>This file is too large to preview. You can still view its source.</source>
        <translation>Diese Datei ist zu groß für die Vorschau. Den Quelltext können Sie ansehen.</translation>
    </message>
    <message>
        <source>This link was not opened because Reverie opens only web and email addresses: {address}</source>
        <translation>Dieser Link wurde nicht geöffnet, weil Reverie nur Web- und E-Mail-Adressen öffnet: {address}</translation>
    </message>
</context>
<context>
    <name>PrivacyDialog</name>
    <message>
        <source>&amp;Close</source>
        <translation>&amp;Schließen</translation>
    </message>
    <message>
        <source>A run without a model sends nothing. A run with a model sends the memories, and any other text the model reads, to the model's provider. Before the first run with a remote model, Reverie shows you the files and the provider and asks for your approval.</source>
        <translation>Ein Lauf ohne Modell sendet nichts. Ein Lauf mit einem Modell sendet Notizen und was er sonst liest an den Anbieter dieses Modells. Vor dem ersten Lauf mit einem Modell auf einem anderen Rechner zeigt Reverie die Dateien und den Anbieter und fragt, ob Sie zustimmen.</translation>
    </message>
    <message>
        <source>Background runs are off in every home until you turn them on in Settings. The history keeps the state before and after each run, so you can undo what the run changed.</source>
        <translation>Hintergrundläufe sind in jedem Home aus, bis Sie sie in den Einstellungen einschalten. Der Verlauf enthält den Zustand vor und nach jedem Lauf, sodass Sie seine Änderungen rückgängig machen können.</translation>
    </message>
    <message>
        <source>Privacy</source>
        <translation>Datenschutz</translation>
    </message>
    <message>
        <source>Reverie never reads an agent's credentials: it does not open files with keys, tokens or logins. Keys for models come from the environment or the system keyring.</source>
        <translation>Die Zugangsdaten eines Agenten: Dateien mit Schlüsseln, Tokens oder Anmeldungen werden nie geöffnet. Schlüssel für Modelle kommen aus der Umgebung oder dem Schlüsselbund des Systems.</translation>
    </message>
    <message>
        <source>Reverie reads the memories in your homes and the files stored with them: pins and use counts, records of past runs, and instruction files. It opens transcripts and traces only when a view or a run needs them. Viewing files never changes them.</source>
        <translation>Die Notizen der Homes und die Dateien daneben: Anheftungen und Nutzungszahlen, Aufzeichnungen früherer Läufe, Anweisungsdateien. Mitschriften und Traces werden geöffnet, wenn eine Ansicht oder ein Lauf sie braucht. Ansehen ändert nichts.</translation>
    </message>
    <message>
        <source>Settings: {settings}. History and runs: {data}. Drafts and logs: {state}.</source>
        <translation>Einstellungen: {settings}. Verlauf und Läufe: {data}. Entwürfe und Protokolle: {state}.</translation>
    </message>
    <message>
        <source>What Reverie never reads</source>
        <translation>Was es nie liest</translation>
    </message>
    <message>
        <source>What Reverie reads</source>
        <translation>Was Reverie liest</translation>
    </message>
    <message>
        <source>What runs in the background</source>
        <translation>Was im Hintergrund läuft</translation>
    </message>
    <message>
        <source>Where Reverie stores its own files</source>
        <translation>Wo Reverie seine eigenen Dateien hat</translation>
    </message>
    <message>
        <source>Where text is sent</source>
        <translation>Wohin Text geht</translation>
    </message>
</context>
<context>
    <name>ProblemsMenu</name>
    <message>
        <source>1 problem</source>
        <translation>1 Problem</translation>
    </message>
    <message>
        <source>Problems in these notes; select a problem to go to its line</source>
        <translation>Probleme in diesen Notizen; die Auswahl führt zur Zeile</translation>
    </message>
    <message>
        <source>The description under “{name}” was changed</source>
        <translation>Die Beschreibung unter „{name}“ wurde geändert</translation>
    </message>
    <message>
        <source>The notes are empty</source>
        <translation>Die Notizen sind leer</translation>
    </message>
    <message>
        <source>The notes have {tokens} tokens; the agent reads at most {most}</source>
        <translation>Die Notizen haben {tokens} Tokens; der Agent liest {most}</translation>
    </message>
    <message>
        <source>The section “{name}” is missing</source>
        <translation>Der Abschnitt „{name}“ fehlt</translation>
    </message>
    <message>
        <source>The sections are in a different order than in the template</source>
        <translation>Die Abschnitte stehen in anderer Reihenfolge als in der Vorlage</translation>
    </message>
    <message>
        <source>“{name}” has {tokens} tokens; the agent reads at most {most}</source>
        <translation>„{name}“ hat {tokens} Tokens; der Agent liest {most}</translation>
    </message>
</context>
<context>
    <name>RawModel</name>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Value</source>
        <translation>Wert</translation>
    </message>
</context>
<context>
    <name>RawView</name>
    <message>
        <source>&amp;Copy value</source>
        <translation>Wert &amp;kopieren</translation>
    </message>
    <message>
        <source>1 match</source>
        <translation>1 Stelle</translation>
    </message>
    <message>
        <source>Raw document</source>
        <translation>Rohdaten</translation>
    </message>
    <message>
        <source>Search results</source>
        <translation>Fundstellen</translation>
    </message>
    <message>
        <source>Search this trace (press Enter)</source>
        <translation>In diesem Trace suchen (Eingabe drücken)</translation>
    </message>
    <message>
        <source>Value</source>
        <translation>Wert</translation>
    </message>
    <message>
        <source>{n} or more matches</source>
        <translation>{n} oder mehr</translation>
    </message>
</context>
<context>
    <name>ReaderBar</name>
    <message>
        <source>&amp;Unfold all</source>
        <translation>Alles a&amp;ufklappen</translation>
    </message>
    <message>
        <source>Cop&amp;y entry</source>
        <translation>Eintrag &amp;kopieren</translation>
    </message>
    <message>
        <source>Copy the full text of the entry at the cursor</source>
        <translation>Den vollen Text des Eintrags an der Schreibmarke kopieren</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>Nächste Stelle</translation>
    </message>
    <message>
        <source>Next match (F3)</source>
        <translation>Nächste Stelle mit diesen Wörtern (F3)</translation>
    </message>
    <message>
        <source>Press Ctrl+Up or Ctrl+Down to go to the previous or next prompt, Ctrl+Home or Ctrl+End to go to the beginning or end</source>
        <translation>Strg+Auf und Strg+Ab führen von Eingabe zu Eingabe, Strg+Pos1 und Strg+Ende zu den Enden</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>Vorige Stelle</translation>
    </message>
    <message>
        <source>Previous match (Shift+F3)</source>
        <translation>Vorige Stelle mit diesen Wörtern (Umschalt+F3)</translation>
    </message>
    <message>
        <source>Search this transcript</source>
        <translation>Diese Mitschrift durchsuchen</translation>
    </message>
</context>
<context>
    <name>ReaderSearch</name>
    <message>
        <source>Not found.</source>
        <translation>Nicht gefunden.</translation>
    </message>
    <message>
        <source>Search continued from the beginning.</source>
        <translation>Vom Anfang an wieder gefunden.</translation>
    </message>
    <message>
        <source>Search continued from the end.</source>
        <translation>Vom Ende her wieder gefunden.</translation>
    </message>
    <message>
        <source>Searching…</source>
        <translation>Suche …</translation>
    </message>
</context>
<context>
    <name>ReplayDialog</name>
    <message>
        <source> s</source>
        <translation> s</translation>
    </message>
    <message>
        <source>&amp;Model:</source>
        <translation>&amp;Modell:</translation>
    </message>
    <message>
        <source>&amp;Replay</source>
        <translation>&amp;Wiederholen</translation>
    </message>
    <message>
        <source>Asking {model}…</source>
        <translation>{model} wird gefragt…</translation>
    </message>
    <message>
        <source>Ca&amp;ncel</source>
        <translation>A&amp;bbrechen</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>Abgebrochen.</translation>
    </message>
    <message>
        <source>In progress: {step}</source>
        <translation>Gerade: {step}</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Model, in the form provider:model</source>
        <translation>Modell, als provider:modell</translation>
    </message>
    <message>
        <source>Not started. Nothing was sent.</source>
        <translation>Nicht begonnen. Nichts wurde gesendet.</translation>
    </message>
    <message>
        <source>Original</source>
        <translation>Original</translation>
    </message>
    <message>
        <source>Original and replay</source>
        <translation>Original und Wiederholung</translation>
    </message>
    <message>
        <source>Parts of the trace</source>
        <translation>Teile des Traces</translation>
    </message>
    <message>
        <source>Replay</source>
        <translation>Wiederholung</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>System-Prompt</translation>
    </message>
    <message>
        <source>Time &amp;limit:</source>
        <translation>Zeit&amp;grenze:</translation>
    </message>
    <message>
        <source>Time limit</source>
        <translation>Zeitgrenze</translation>
    </message>
    <message>
        <source>{what} from {when}, replayed on a copy of the memory as it was then. No files are changed, and secrets in the text are not sent.</source>
        <translation>{what} vom {when}, wiederholt auf einer Kopie der Notizen von damals. Keine Datei wird geändert, und Geheimnisse im Text werden nicht gesendet.</translation>
    </message>
</context>
<context>
    <name>ResolutionDialog</name>
    <message>
        <source>&amp;Save</source>
        <translation>&amp;Speichern</translation>
    </message>
    <message>
        <source>After</source>
        <translation>Danach</translation>
    </message>
    <message>
        <source>Current text</source>
        <translation>Was es jetzt gibt</translation>
    </message>
    <message>
        <source>How the error was resolved</source>
        <translation>Wie der Fehler gelöst wurde</translation>
    </message>
    <message>
        <source>How this error was resolved</source>
        <translation>Wie dieser Fehler behoben wurde</translation>
    </message>
    <message>
        <source>How this error was resolved: its cause and what helped</source>
        <translation>Wie dieser Fehler behoben wurde: Ursache und was geholfen hat</translation>
    </message>
    <message>
        <source>Now</source>
        <translation>Jetzt</translation>
    </message>
    <message>
        <source>Text after the change</source>
        <translation>Was es dann gibt</translation>
    </message>
    <message>
        <source>The text for the next attempt contains only the type and message of each error, so your resolution is not part of it. The agent uses resolutions later, when it writes advice.</source>
        <translation>Der Text für den nächsten Versuch enthält nur Art und Meldung jedes Fehlers; Ihre Lösung erscheint darin nicht. Der Agent verwendet Lösungen später, wenn er Ratschläge schreibt.</translation>
    </message>
</context>
<context>
    <name>RestoreDialog</name>
    <message>
        <source>&amp;Restore</source>
        <translation>&amp;Wiederherstellen</translation>
    </message>
    <message>
        <source>Deleted files stay in the history and can be restored</source>
        <translation>Sie bleiben in der Geschichte und lassen sich zurückholen</translation>
    </message>
    <message>
        <source>Files that would change</source>
        <translation>Was sich ändern würde</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>Restore these files; you can undo this</source>
        <translation>Das schreiben; es lässt sich rückgängig machen</translation>
    </message>
    <message>
        <source>will be deleted</source>
        <translation>verschwindet</translation>
    </message>
    <message>
        <source>will be restored</source>
        <translation>kommt zurück</translation>
    </message>
    <message>
        <source>will change</source>
        <translation>ändert sich</translation>
    </message>
    <message>
        <source>{path} as it was on {when}</source>
        <translation>{path} wie am {when}</translation>
    </message>
    <message>
        <source>{path} cannot be restored: {why}</source>
        <translation>{path} kann nicht zurückgeholt werden: {why}</translation>
    </message>
    <message>
        <source>… and {n} more</source>
        <translation>… und {n} weitere</translation>
    </message>
</context>
<context>
    <name>ResultList</name>
    <message>
        <source>Search results</source>
        <translation>Suchergebnisse</translation>
    </message>
</context>
<context>
    <name>ResultModel</name>
    <message>
        <source>No project or workspace of this home uses this memory.</source>
        <translation>Kein Projekt und kein Workspace dieses Homes zeigt es.</translation>
    </message>
</context>
<context>
    <name>ReviewDetail</name>
    <message>
        <source>&amp;Allow these lines to be removed</source>
        <translation>Dem Entfernen dieser Zeilen &amp;zustimmen</translation>
    </message>
    <message>
        <source>Discard my text</source>
        <translation>Meine Worte zurücknehmen</translation>
    </message>
    <message>
        <source>Edit the text…</source>
        <translation>Text bearbeiten…</translation>
    </message>
    <message>
        <source>Edit this change…</source>
        <translation>Diese Änderung bearbeiten…</translation>
    </message>
    <message>
        <source>Replace the text of the file with your own</source>
        <translation>Eigene Worte an die Stelle derer der Datei setzen</translation>
    </message>
    <message>
        <source>Replace this change with your own text</source>
        <translation>Eigene Worte an die Stelle dieser setzen</translation>
    </message>
    <message>
        <source>Replacement text</source>
        <translation>Text an dieser Stelle</translation>
    </message>
    <message>
        <source>Result</source>
        <translation>Ergebnis</translation>
    </message>
    <message>
        <source>Show the difference</source>
        <translation>Den Unterschied zeigen</translation>
    </message>
    <message>
        <source>This file will also be restored: {why}</source>
        <translation>Auch diese Datei wird wiederhergestellt: {why}</translation>
    </message>
    <message>
        <source>This file will not be changed: {why}</source>
        <translation>Diese Datei wird nicht geändert: {why}</translation>
    </message>
</context>
<context>
    <name>ReviewTree</name>
    <message>
        <source>Changes</source>
        <translation>Änderungen</translation>
    </message>
    <message>
        <source>Not shown</source>
        <translation>Nicht gezeigt</translation>
    </message>
    <message>
        <source>Refused</source>
        <translation>Abgelehnt</translation>
    </message>
    <message>
        <source>edited</source>
        <translation>bearbeitet</translation>
    </message>
    <message>
        <source>not changed</source>
        <translation>bleibt</translation>
    </message>
    <message>
        <source>to be undone</source>
        <translation>geht zurück</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>zurückgenommen</translation>
    </message>
    <message>
        <source>… and {n} more</source>
        <translation>… und {n} weitere</translation>
    </message>
</context>
<context>
    <name>RolloutConsent</name>
    <message>
        <source>Reverie will not ask again for this home and destination.</source>
        <translation>Reverie fragt nur einmal für dieses Home und Ziel.</translation>
    </message>
    <message>
        <source>Text that Reverie recognizes as a secret is replaced with a placeholder and is not sent.</source>
        <translation>Was für Reverie wie ein Geheimnis aussieht, wird durch einen Platzhalter ersetzt und nicht gesendet.</translation>
    </message>
    <message>
        <source>The model {engine} will read the sessions, which are listed first. It can also read the memories, which are listed after them.</source>
        <translation>Das Modell {engine} wird die Sitzungen lesen, die zuerst aufgeführt sind. Es kann auch die Notizen lesen, die danach folgen.</translation>
    </message>
</context>
<context>
    <name>RunPanel</name>
    <message>
        <source>A consolidation was interrupted on {when}. You can undo the changes it had already made.</source>
        <translation>Eine Konsolidierung wurde am {when} unterbrochen; was sie begonnen hatte, lässt sich rückgängig machen.</translation>
    </message>
    <message>
        <source>Apply all</source>
        <translation>Alles anwenden</translation>
    </message>
    <message>
        <source>Apply all planned changes; you can undo them</source>
        <translation>Genau das tun; es lässt sich rückgängig machen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Wird abgebrochen…</translation>
    </message>
    <message>
        <source>Progress of the consolidation</source>
        <translation>Fortschritt der Konsolidierung</translation>
    </message>
    <message>
        <source>Redo the changes that were undone</source>
        <translation>Das Rückgängiggemachte wieder anwenden</translation>
    </message>
    <message>
        <source>Review changes</source>
        <translation>Änderungen durchsehen</translation>
    </message>
    <message>
        <source>Review plan</source>
        <translation>Plan durchsehen</translation>
    </message>
    <message>
        <source>Show the changes of this run, file by file</source>
        <translation>Was geändert wurde, Datei für Datei</translation>
    </message>
    <message>
        <source>Show the planned changes, file by file</source>
        <translation>Was geändert würde, Datei für Datei</translation>
    </message>
    <message>
        <source>Stop before the next change</source>
        <translation>Vor der nächsten Änderung anhalten</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Undo every change of this run</source>
        <translation>Jedes Byte zurückgeben, das dieser Lauf geändert hat</translation>
    </message>
</context>
<context>
    <name>SearchField</name>
    <message>
        <source>Clear</source>
        <translation>Leeren</translation>
    </message>
</context>
<context>
    <name>SettingsControl</name>
    <message>
        <source>The key for {provider} was removed from the keyring.</source>
        <translation>Der Schlüssel für {provider} wurde aus dem Schlüsselbund entfernt.</translation>
    </message>
    <message>
        <source>The key for {provider} was saved in the system's keyring.</source>
        <translation>Der Schlüssel für {provider} liegt im Schlüsselbund des Systems.</translation>
    </message>
</context>
<context>
    <name>SettingsDialog</name>
    <message>
        <source>&amp;Close</source>
        <translation>&amp;Schließen</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;Rückgängig</translation>
    </message>
    <message>
        <source>Consolidate currently uses {model}. {reason}</source>
        <translation>Konsolidieren verwendet jetzt {model}. {reason}</translation>
    </message>
    <message>
        <source>Consolidate currently works without a model. {reason}</source>
        <translation>Konsolidieren arbeitet jetzt ohne Modell. {reason}</translation>
    </message>
    <message>
        <source>No setting contains “{query}” in its name, description or key.</source>
        <translation>Keine Einstellung hat „{query}“ in Namen, Erklärung oder Schlüssel.</translation>
    </message>
    <message>
        <source>Open a home to configure its background runs.</source>
        <translation>Was im Hintergrund laufen darf, wird für ein geöffnetes Home eingestellt.</translation>
    </message>
    <message>
        <source>Saved: {name}</source>
        <translation>Gespeichert: {name}</translation>
    </message>
    <message>
        <source>Search the settings</source>
        <translation>Einstellungen durchsuchen</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Settings pages</source>
        <translation>Seiten der Einstellungen</translation>
    </message>
    <message>
        <source>Undo the last change</source>
        <translation>Die letzte Änderung zurücknehmen</translation>
    </message>
</context>
<context>
    <name>ShortcutSheet</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
</context>
<context>
    <name>SideBySide</name>
    <message>
        <source>First memory</source>
        <translation>Die erste Notiz</translation>
    </message>
    <message>
        <source>Second memory</source>
        <translation>Die zweite Notiz</translation>
    </message>
</context>
<context>
    <name>SideHead</name>
    <message>
        <source>all lines are also in the other memory</source>
        <translation>alle Zeilen stehen auch in der anderen Notiz</translation>
    </message>
</context>
<context>
    <name>SizeGauge</name>
    <message>
        <source>About {tokens} tokens, estimated at 4 characters per token.</source>
        <translation>Etwa {tokens} Tokens, ein Viertel der Zeichen.</translation>
    </message>
    <message>
        <source>{size} of the {cap} bytes that the agent reads.</source>
        <translation>{size} Bytes von den {cap}, die der Agent liest.</translation>
    </message>
    <message>
        <source>{size} of {cap}</source>
        <translation>{size} von {cap}</translation>
    </message>
    <message>
        <source>{size} · {tokens} tokens</source>
        <translation>{size} · {tokens} Tokens</translation>
    </message>
</context>
<context>
    <name>SlowDiskIndicator</name>
    <message>
        <source>An operation is taking a long time. The disk might be slow.</source>
        <translation>Etwas dauert lange. Vielleicht ist das Laufwerk langsam.</translation>
    </message>
    <message>
        <source>Still working…</source>
        <translation>Noch bei der Arbeit …</translation>
    </message>
    <message>
        <source>The disk is not responding</source>
        <translation>Das Laufwerk antwortet nicht</translation>
    </message>
    <message>
        <source>{home} is on a disk or network share that is not responding. Reverie keeps the text that you type, and you can close the window. Reverie continues as soon as the disk responds.</source>
        <translation>{home} liegt auf einem Laufwerk oder einer Netzfreigabe, die nicht antwortet. Was Sie tippen, bleibt erhalten, und das Fenster lässt sich schließen. Reverie macht weiter, sobald sie antwortet.</translation>
    </message>
    <message>
        <source>{home} is responding again.</source>
        <translation>{home} antwortet wieder.</translation>
    </message>
</context>
<context>
    <name>SourceList</name>
    <message>
        <source>All projects</source>
        <translation>Alle Projekte</translation>
    </message>
    <message>
        <source>Filter by project</source>
        <translation>Von welchem Projekt</translation>
    </message>
    <message>
        <source>Find a transcript</source>
        <translation>Eine Mitschrift finden</translation>
    </message>
    <message>
        <source>Transcripts</source>
        <translation>Mitschriften</translation>
    </message>
</context>
<context>
    <name>SourceView</name>
    <message>
        <source>A line of more than {n} characters cannot be edited here.</source>
        <translation>Eine Zeile mit mehr als {n} Zeichen kann hier nicht bearbeitet werden.</translation>
    </message>
    <message>
        <source>At most {lines} lines and {n} characters can be inserted at once.</source>
        <translation>Höchstens {lines} Zeilen und {n} Zeichen lassen sich auf einmal einfügen.</translation>
    </message>
    <message>
        <source>Insert the text in parts, or edit the file in another program.</source>
        <translation>Füge den Text in Teilen ein oder bearbeite die Datei in einem anderen Programm.</translation>
    </message>
    <message>
        <source>Split the line into shorter ones, or edit the file in another program.</source>
        <translation>Teilen Sie die Zeile in kürzere, oder bearbeiten Sie die Datei in einem anderen Programm.</translation>
    </message>
</context>
<context>
    <name>StaleControl</name>
    <message>
        <source>Press Alt+Enter to replace it</source>
        <translation>Alt+Eingabe ersetzt es</translation>
    </message>
</context>
<context>
    <name>StartPage</name>
    <message>
        <source>A home is the directory where an agent stores its memories, such as ~/.claude, ~/.codex or ~/.mux. No home was found in the usual locations.</source>
        <translation>Ein Home ist das Verzeichnis, in dem ein Agent seine Notizen hat, etwa ~/.claude, ~/.codex oder ~/.mux. An den üblichen Orten wurde keines gefunden.</translation>
    </message>
    <message>
        <source>Memories are sent to a remote model only after you approve files and provider.</source>
        <translation>Notizen gehen erst an ein Modell auf einem anderen Rechner, wenn Sie den Dateien und dem Anbieter zugestimmt haben.</translation>
    </message>
    <message>
        <source>More about &amp;privacy</source>
        <translation>Mehr zum Daten&amp;schutz</translation>
    </message>
    <message>
        <source>No home is open</source>
        <translation>Kein Home ist offen</translation>
    </message>
    <message>
        <source>Nothing runs in the background until you turn it on.</source>
        <translation>Im Hintergrund läuft nichts, bis Sie es einschalten.</translation>
    </message>
    <message>
        <source>Opening a home does not change any of its files.</source>
        <translation>Ein Home zu öffnen ändert nichts darin.</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>These agents keep memories on this computer. Choose one to open.</source>
        <translation>Diese Agenten haben Notizen auf diesem Rechner. Wählen Sie einen, um hineinzusehen.</translation>
    </message>
    <message>
        <source>Welcome to Reverie</source>
        <translation>Willkommen bei Reverie</translation>
    </message>
</context>
<context>
    <name>StepsTree</name>
    <message>
        <source>1 tool call</source>
        <translation>1 Werkzeugaufruf</translation>
    </message>
    <message>
        <source>Attempt {n}</source>
        <translation>Versuch {n}</translation>
    </message>
    <message>
        <source>Attempts, responses and tool calls</source>
        <translation>Versuche, Antworten und Werkzeugaufrufe</translation>
    </message>
    <message>
        <source>Duration</source>
        <translation>Dauer</translation>
    </message>
    <message>
        <source>No response</source>
        <translation>Keine Antwort</translation>
    </message>
    <message>
        <source>Response {n}</source>
        <translation>Antwort {n}</translation>
    </message>
    <message>
        <source>Result</source>
        <translation>Ergebnis</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>done</source>
        <translation>fertig</translation>
    </message>
    <message>
        <source>not run</source>
        <translation>wurde nicht ausgeführt</translation>
    </message>
    <message>
        <source>wrote</source>
        <translation>geschrieben</translation>
    </message>
</context>
<context>
    <name>StepsView</name>
    <message>
        <source>&amp;Chronological</source>
        <translation>&amp;Chronologisch</translation>
    </message>
    <message>
        <source>Stop reason: {finish}. Input / output tokens: {usage}</source>
        <translation>Grund für das Ende: {finish}. Tokens ein / aus: {usage}</translation>
    </message>
    <message>
        <source>The selected step in full</source>
        <translation>Der ausgewählte Schritt ganz</translation>
    </message>
</context>
<context>
    <name>TakeBack</name>
    <message>
        <source>Other changes were made after this one. Undo those changes first.</source>
        <translation>Danach kamen andere Änderungen: Erst diese rückgängig machen.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Undo this change</source>
        <translation>Zurücknehmen</translation>
    </message>
</context>
<context>
    <name>TellControl</name>
    <message>
        <source>Saved. Codex will read {path} the next time it consolidates.</source>
        <translation>Codex wird {path} lesen.</translation>
    </message>
    <message>
        <source>{reason} Reverie writes the note as soon as Codex has finished. Keep this dialog open.</source>
        <translation>{reason} Reverie schreibt die Notiz, sobald das beendet ist. Dieser Dialog muss offen bleiben.</translation>
    </message>
</context>
<context>
    <name>TellDialog</name>
    <message>
        <source>Enter what Codex should remember. Reverie saves the text as a note, which Codex adds to its memory the next time it consolidates.</source>
        <translation>Schreiben Sie, was Codex sich merken soll. Daraus wird eine Notiz, die Codex bei der nächsten Konsolidierung in sein Gedächtnis aufnimmt.</translation>
    </message>
    <message>
        <source>Tell Codex</source>
        <translation>Codex mitteilen</translation>
    </message>
    <message>
        <source>What Codex should remember</source>
        <translation>Was Codex sich merken soll</translation>
    </message>
</context>
<context>
    <name>TemplateChoice</name>
    <message>
        <source>Empty</source>
        <translation>Leer</translation>
    </message>
    <message>
        <source>Template</source>
        <translation>Vorlage</translation>
    </message>
</context>
<context>
    <name>TextView</name>
    <message>
        <source>Text of this version</source>
        <translation>Text dieser Fassung</translation>
    </message>
    <message>
        <source>This version is not text.</source>
        <translation>Diese Fassung ist kein Text.</translation>
    </message>
</context>
<context>
    <name>TraceCompare</name>
    <message>
        <source>Compare traces</source>
        <translation>Traces vergleichen</translation>
    </message>
    <message>
        <source>Differences are highlighted. “-” marks the older trace, “+” the newer one.</source>
        <translation>Was sich unterscheidet, ist getönt; „-“ ist der ältere, „+“ der neuere.</translation>
    </message>
    <message>
        <source>Reading…</source>
        <translation>Wird gelesen…</translation>
    </message>
</context>
<context>
    <name>TraceDetailView</name>
    <message>
        <source>&amp;Export…</source>
        <translation>&amp;Exportieren…</translation>
    </message>
    <message>
        <source>&amp;Transcript</source>
        <translation>&amp;Transkript</translation>
    </message>
    <message>
        <source>1 attempt</source>
        <translation>1 Versuch</translation>
    </message>
    <message>
        <source>Attempted change</source>
        <translation>Versuchte Änderung</translation>
    </message>
    <message>
        <source>C&amp;ompare…</source>
        <translation>Ver&amp;gleichen…</translation>
    </message>
    <message>
        <source>Compare the two selected traces</source>
        <translation>Die zwei ausgewählten Traces vergleichen</translation>
    </message>
    <message>
        <source>Copy &amp;summary</source>
        <translation>&amp;Zusammenfassung kopieren</translation>
    </message>
    <message>
        <source>Copy the verdict, evidence and facts</source>
        <translation>Befund, Belege und Angaben kopieren</translation>
    </message>
    <message>
        <source>Evidence: {text}</source>
        <translation>Beleg: {text}</translation>
    </message>
    <message>
        <source>Messages</source>
        <translation>Nachrichten</translation>
    </message>
    <message>
        <source>Parts of the trace</source>
        <translation>Teile des Traces</translation>
    </message>
    <message>
        <source>Raw</source>
        <translation>Rohdaten</translation>
    </message>
    <message>
        <source>Re&amp;play…</source>
        <translation>Wieder&amp;holen…</translation>
    </message>
    <message>
        <source>Repeat this run on a copy, with another model or prompt; no files are changed</source>
        <translation>Den Lauf mit anderem Modell oder Prompt auf einer Kopie wiederholen; keine Datei wird geändert</translation>
    </message>
    <message>
        <source>Save the trace as a file</source>
        <translation>Das Dokument als Datei speichern</translation>
    </message>
    <message>
        <source>Select the step that contains the evidence</source>
        <translation>Den Schritt auswählen, der es zeigt</translation>
    </message>
    <message>
        <source>Show evidence</source>
        <translation>Stelle zeigen</translation>
    </message>
    <message>
        <source>Show this point in the conversation</source>
        <translation>Diese Stelle im Gespräch zeigen</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>long texts are shortened here; the Raw page has the full text</source>
        <translation>lange Texte sind hier gekürzt; die Seite „Rohdaten“ hat den ganzen Text</translation>
    </message>
    <message>
        <source>triggered by {id}</source>
        <translation>ausgelöst von {id}</translation>
    </message>
</context>
<context>
    <name>TraceList</name>
    <message>
        <source>All homes</source>
        <translation>Alle Homes</translation>
    </message>
    <message>
        <source>All runs</source>
        <translation>Alle Läufe</translation>
    </message>
    <message>
        <source>All verdicts</source>
        <translation>Alle Befunde</translation>
    </message>
    <message>
        <source>All workspaces</source>
        <translation>Alle Workspaces</translation>
    </message>
    <message>
        <source>Filter by home or workspace</source>
        <translation>Wessen Traces</translation>
    </message>
    <message>
        <source>Filter by kind of run</source>
        <translation>Welche Läufe</translation>
    </message>
    <message>
        <source>Filter by verdict</source>
        <translation>Welche Befunde</translation>
    </message>
    <message>
        <source>Longest first</source>
        <translation>Längste zuerst</translation>
    </message>
    <message>
        <source>Most tokens first</source>
        <translation>Meiste Token zuerst</translation>
    </message>
    <message>
        <source>Newest first</source>
        <translation>Neueste zuerst</translation>
    </message>
    <message>
        <source>Search traces</source>
        <translation>Traces durchsuchen</translation>
    </message>
    <message>
        <source>Selected home</source>
        <translation>Gewähltes Home</translation>
    </message>
    <message>
        <source>Sort order</source>
        <translation>Reihenfolge</translation>
    </message>
    <message>
        <source>Traces</source>
        <translation>Traces</translation>
    </message>
    <message>
        <source>Wrote nothing</source>
        <translation>Nichts geschrieben</translation>
    </message>
</context>
<context>
    <name>TracesTab</name>
    <message>
        <source>A trace shows what a run sent to the model, what it received and what it did. Each consolidation with a model writes a trace; the memory writer writes one when it fails.</source>
        <translation>Ein Trace zeigt, was ein Lauf gefragt hat, was er bekommen hat und was er getan hat. Konsolidierungen mit einem Modell hinterlassen einen; der Notizschreiber hinterlässt einen, wenn er scheitert.</translation>
    </message>
    <message>
        <source>Checking the settings…</source>
        <translation>Einstellungen werden geprüft…</translation>
    </message>
    <message>
        <source>Export the trace</source>
        <translation>Trace exportieren</translation>
    </message>
    <message>
        <source>Exported to {path}</source>
        <translation>Exportiert nach {path}</translation>
    </message>
    <message>
        <source>No matching traces.</source>
        <translation>Keine passenden Traces.</translation>
    </message>
    <message>
        <source>No traces for {place} yet.</source>
        <translation>Noch keine Traces von {place}.</translation>
    </message>
    <message>
        <source>No traces yet</source>
        <translation>Noch keine Traces</translation>
    </message>
    <message>
        <source>Reading traces…</source>
        <translation>Traces werden gelesen…</translation>
    </message>
    <message>
        <source>Select a trace.</source>
        <translation>Einen Trace auswählen.</translation>
    </message>
    <message>
        <source>Select a workspace on the left.</source>
        <translation>Wählen Sie links einen Workspace.</translation>
    </message>
    <message>
        <source>The summary was copied to the clipboard.</source>
        <translation>Die Zusammenfassung ist in der Zwischenablage.</translation>
    </message>
    <message>
        <source>Why did nothing happen?</source>
        <translation>Warum ist nichts passiert?</translation>
    </message>
</context>
<context>
    <name>TranscriptDialog</name>
    <message>
        <source>Reading the transcript…</source>
        <translation>Das Transkript wird gelesen…</translation>
    </message>
    <message>
        <source>The message that triggered the run is no longer in the transcript.</source>
        <translation>Die Nachricht, die den Lauf ausgelöst hat, steht nicht mehr im Transkript.</translation>
    </message>
    <message>
        <source>The run was triggered by this message.</source>
        <translation>Der Lauf wurde durch diese Nachricht ausgelöst.</translation>
    </message>
    <message>
        <source>This workspace has no transcript.</source>
        <translation>Von diesem Workspace gibt es kein Transkript.</translation>
    </message>
    <message>
        <source>Transcript</source>
        <translation>Transkript</translation>
    </message>
</context>
<context>
    <name>TranscriptView</name>
    <message>
        <source>No transcript found.</source>
        <translation>Es gibt keine Mitschrift.</translation>
    </message>
    <message>
        <source>Reading…</source>
        <translation>Wird gelesen…</translation>
    </message>
    <message>
        <source>Transcript</source>
        <translation>Transkript</translation>
    </message>
</context>
<context>
    <name>TranscriptsTab</name>
    <message>
        <source>No transcripts yet</source>
        <translation>Noch keine Mitschriften</translation>
    </message>
    <message>
        <source>Transcript {id} no longer exists.</source>
        <translation>Die Mitschrift {id} gibt es nicht mehr.</translation>
    </message>
    <message>
        <source>Your conversations with the agent appear here once there is a session.</source>
        <translation>Hier steht, was zwischen Ihnen und dem Agenten gesagt wurde, sobald es eine Sitzung gibt.</translation>
    </message>
</context>
<context>
    <name>TransferControl</name>
    <message>
        <source>&amp;Review</source>
        <translation>&amp;Prüfen</translation>
    </message>
    <message>
        <source>All files</source>
        <translation>Alle Dateien</translation>
    </message>
    <message>
        <source>Export memories</source>
        <translation>Erinnerungen exportieren</translation>
    </message>
    <message>
        <source>Import into:</source>
        <translation>Importieren in:</translation>
    </message>
    <message>
        <source>Import memories</source>
        <translation>Erinnerungen importieren</translation>
    </message>
    <message>
        <source>Import memories from a folder</source>
        <translation>Erinnerungen aus einem Ordner importieren</translation>
    </message>
    <message>
        <source>New folder</source>
        <translation>Neuer Ordner</translation>
    </message>
    <message>
        <source>Nothing to import: no file is new or different.</source>
        <translation>Nichts zu importieren: Keine Datei ist neu oder anders.</translation>
    </message>
    <message>
        <source>Show the proposed changes</source>
        <translation>Die vorgeschlagenen Änderungen zeigen</translation>
    </message>
    <message>
        <source>Single memory</source>
        <translation>Einzelne Erinnerung</translation>
    </message>
    <message>
        <source>Zip archive</source>
        <translation>Zip-Archiv</translation>
    </message>
    <message>
        <source>Zip archives and text files</source>
        <translation>Zip-Archive und Textdateien</translation>
    </message>
</context>
<context>
    <name>TreeDelegate</name>
    <message>
        <source>New name</source>
        <translation>Neuer Name</translation>
    </message>
</context>
<context>
    <name>TreeOrder</name>
    <message>
        <source>Sort order of the memories</source>
        <translation>Reihenfolge der Notizen</translation>
    </message>
    <message>
        <source>Sorted by last change</source>
        <translation>Geordnet nach letzter Änderung</translation>
    </message>
    <message>
        <source>Sorted by name</source>
        <translation>Geordnet nach Name</translation>
    </message>
    <message>
        <source>Sorted by size</source>
        <translation>Geordnet nach Größe</translation>
    </message>
    <message>
        <source>Sorted by use</source>
        <translation>Geordnet nach Nutzung</translation>
    </message>
</context>
<context>
    <name>TwoTraces</name>
    <message>
        <source>Differences</source>
        <translation>Unterschiede</translation>
    </message>
    <message>
        <source>Facts</source>
        <translation>Angaben</translation>
    </message>
    <message>
        <source>No differences.</source>
        <translation>Kein Unterschied.</translation>
    </message>
    <message>
        <source>Parts of the trace</source>
        <translation>Teile des Traces</translation>
    </message>
    <message>
        <source>Responses</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Responses in the first trace</source>
        <translation>Antworten des ersten</translation>
    </message>
    <message>
        <source>Responses in the second trace</source>
        <translation>Antworten des zweiten</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>Schritte</translation>
    </message>
</context>
<context>
    <name>UnseenControl</name>
    <message>
        <source>&amp;Open in Changes</source>
        <translation>In Änderungen ö&amp;ffnen</translation>
    </message>
    <message>
        <source>&amp;Restore</source>
        <translation>&amp;Wiederherstellen</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;Rückgängig</translation>
    </message>
    <message>
        <source>Changed {by}</source>
        <translation>Geändert {by}</translation>
    </message>
    <message>
        <source>Deleted {name}.</source>
        <translation>{name} gelöscht.</translation>
    </message>
    <message>
        <source>Go to the first change</source>
        <translation>Zur ersten Änderung</translation>
    </message>
    <message>
        <source>New, {by}</source>
        <translation>Neu, {by}</translation>
    </message>
    <message>
        <source>Restore the version you last saw</source>
        <translation>Zurückholen, was Sie zuletzt gesehen haben</translation>
    </message>
    <message>
        <source>Restored {name}.</source>
        <translation>{name} wiederhergestellt.</translation>
    </message>
    <message>
        <source>S&amp;how</source>
        <translation>&amp;Zeigen</translation>
    </message>
    <message>
        <source>Show what was changed, by whom and when</source>
        <translation>Was geändert wurde, von wem und wann</translation>
    </message>
    <message>
        <source>Undo this change; your own edits are kept</source>
        <translation>Zurücknehmen; was Sie geschrieben haben, bleibt</translation>
    </message>
    <message>
        <source>{path} was deleted {by}</source>
        <translation>{path} wurde {by} gelöscht</translation>
    </message>
</context>
<context>
    <name>VersionPane</name>
    <message>
        <source>&amp;Restore this version</source>
        <translation>Diese Fassung &amp;wiederherstellen</translation>
    </message>
    <message>
        <source>Restore the file to this version; you can undo this</source>
        <translation>Der Datei wieder diesen Text geben; es lässt sich rückgängig machen</translation>
    </message>
    <message>
        <source>Since then</source>
        <translation>Seitdem</translation>
    </message>
    <message>
        <source>Text of this version</source>
        <translation>Text dieser Fassung</translation>
    </message>
    <message>
        <source>The file is the same as this version.</source>
        <translation>Die Datei ist wie damals.</translation>
    </message>
    <message>
        <source>What changed</source>
        <translation>Was sich änderte</translation>
    </message>
    <message>
        <source>What to show for this file</source>
        <translation>Was zu dieser Datei gezeigt wird</translation>
    </message>
    <message>
        <source>Who wrote each line</source>
        <translation>Wer jede Zeile schrieb</translation>
    </message>
</context>
<context>
    <name>WatchLabel</name>
    <message>
        <source>Changes reported by the system: {events}. Full checks of all files: {rescans}.</source>
        <translation>Vom System gemeldete Änderungen: {events}. Prüfungen aller Dateien: {rescans}.</translation>
    </message>
    <message>
        <source>Live</source>
        <translation>Live</translation>
    </message>
    <message>
        <source>Not watching</source>
        <translation>Keine Beobachtung</translation>
    </message>
    <message>
        <source>Polling</source>
        <translation>Abfrage</translation>
    </message>
</context>
<context>
    <name>WindowDialogs</name>
    <message>
        <source>About Reverie</source>
        <translation>Über Reverie</translation>
    </message>
    <message>
        <source>Reverie {version}
A desktop memory browser for coding agents.</source>
        <translation>Reverie {version}
Ein Betrachter für das Gedächtnis von Coding-Agenten.</translation>
    </message>
</context>
<context>
    <name>WorthControl</name>
    <message>
        <source>Applied the suggested change. {why}</source>
        <translation>Die vorgeschlagene Änderung wurde angewendet. {why}</translation>
    </message>
    <message>
        <source>Kept {path} and deleted {other}.</source>
        <translation>{path} wurde behalten, {other} gelöscht.</translation>
    </message>
    <message>
        <source>Not checked yet</source>
        <translation>Noch nicht nachgesehen</translation>
    </message>
    <message>
        <source>This finding will not be shown again.</source>
        <translation>Es wird nicht mehr gezeigt.</translation>
    </message>
</context>
<context>
    <name>WorthPage</name>
    <message>
        <source>&amp;Apply suggestion</source>
        <translation>Vorschlag &amp;anwenden</translation>
    </message>
    <message>
        <source>&amp;Dismiss</source>
        <translation>&amp;Verwerfen</translation>
    </message>
    <message>
        <source>&amp;Fix</source>
        <translation>&amp;Beheben</translation>
    </message>
    <message>
        <source>&amp;Merge…</source>
        <translation>&amp;Zusammenführen …</translation>
    </message>
    <message>
        <source>&amp;Next pair ({number} of {count})</source>
        <translation>&amp;Nächstes Paar ({number} von {count})</translation>
    </message>
    <message>
        <source>&amp;Open</source>
        <translation>Ö&amp;ffnen</translation>
    </message>
    <message>
        <source>&amp;Show again</source>
        <translation>Wieder &amp;zeigen</translation>
    </message>
    <message>
        <source>Apply the suggested change (A); you can undo this</source>
        <translation>Die vorgeschlagene Änderung anwenden (A); Sie können das rückgängig machen</translation>
    </message>
    <message>
        <source>Do not show this finding again</source>
        <translation>Dies nicht mehr zeigen</translation>
    </message>
    <message>
        <source>Findings worth a look</source>
        <translation>Was einen Blick wert ist</translation>
    </message>
    <message>
        <source>Fix &amp;all</source>
        <translation>&amp;Alle beheben</translation>
    </message>
    <message>
        <source>Keep &amp;both</source>
        <translation>&amp;Beide behalten</translation>
    </message>
    <message>
        <source>Kinds of findings to show</source>
        <translation>Welche Funde gezeigt werden</translation>
    </message>
    <message>
        <source>Leave both memories unchanged and do not show this pair again</source>
        <translation>Die beiden lassen, wie sie sind, und dieses Paar nicht mehr zeigen</translation>
    </message>
    <message>
        <source>Merge the memories into one by hand</source>
        <translation>Von Hand eine einzige Notiz daraus machen</translation>
    </message>
    <message>
        <source>Nothing needs your attention</source>
        <translation>Nichts braucht Ihre Aufmerksamkeit</translation>
    </message>
    <message>
        <source>Open the o&amp;ther</source>
        <translation>Das &amp;andere öffnen</translation>
    </message>
    <message>
        <source>Reason given by the model: {why}</source>
        <translation>Ein Modell sagt: {why}</translation>
    </message>
    <message>
        <source>Replace the outdated part of this statement</source>
        <translation>Die Wörter dieser Aussage ersetzen</translation>
    </message>
    <message>
        <source>Searching…</source>
        <translation>Suche…</translation>
    </message>
    <message>
        <source>Show all dismissed findings again</source>
        <translation>Alle verworfenen Funde wieder zeigen</translation>
    </message>
    <message>
        <source>Show the line in the editor</source>
        <translation>Die Zeile im Editor zeigen</translation>
    </message>
    <message>
        <source>Show the line in the other memory</source>
        <translation>Die Zeile der anderen Notiz zeigen</translation>
    </message>
    <message>
        <source>Show the next pair of lines on the same topic</source>
        <translation>Das nächste Paar von Zeilen über dasselbe zeigen</translation>
    </message>
    <message>
        <source>Suggested change</source>
        <translation>Vorgeschlagene Änderung</translation>
    </message>
    <message>
        <source>Suggestion: {why}</source>
        <translation>Vorschlag: {why}</translation>
    </message>
    <message>
        <source>The memories are checked again whenever one of them changes.</source>
        <translation>Bei jeder Änderung einer Notiz wird neu geprüft.</translation>
    </message>
    <message>
        <source>Update all outdated statements whose current value is known</source>
        <translation>Alle veralteten Angaben aktualisieren, deren heutiger Wert bekannt ist</translation>
    </message>
    <message>
        <source>Worth a look</source>
        <translation>Einen Blick wert</translation>
    </message>
</context>
<context>
    <name>_Half</name>
    <message>
        <source>
… the rest is too long to show here.</source>
        <translation>
… der Rest ist zu lang, um hier gezeigt zu werden.</translation>
    </message>
</context>
<context>
    <name>_Line</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Cancelling…</source>
        <translation>Wird abgebrochen…</translation>
    </message>
</context>
<context>
    <name>dialogs</name>
    <message>
        <source>Open an agent's home</source>
        <translation>Home eines Agenten öffnen</translation>
    </message>
</context>
<context>
    <name>reverie</name>
    <message>
        <source> % of the lines</source>
        <translation> % der Zeilen</translation>
    </message>
    <message>
        <source> MB</source>
        <translation> MB</translation>
    </message>
    <message>
        <source> min</source>
        <translation> min</translation>
    </message>
    <message>
        <source> pt</source>
        <translation> pt</translation>
    </message>
    <message>
        <source> rollouts</source>
        <translation> Rollouts</translation>
    </message>
    <message>
        <source> s</source>
        <translation> s</translation>
    </message>
    <message>
        <source> tokens</source>
        <translation> Token</translation>
    </message>
    <message>
        <source> tool calls</source>
        <translation> Werkzeugaufrufe</translation>
    </message>
    <message>
        <source> traces</source>
        <translation> Traces</translation>
    </message>
    <message>
        <source> turns</source>
        <translation> Antworten</translation>
    </message>
    <message numerus="yes">
        <source>%n anti-patterns</source>
        <translation><numerusform>%n Anti-Pattern</numerusform><numerusform>%n Anti-Patterns</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n attempts</source>
        <translation><numerusform>%n Versuch</numerusform><numerusform>%n Versuche</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n broken lines</source>
        <translation><numerusform>%n kaputte Zeile</numerusform><numerusform>%n kaputte Zeilen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n broken links</source>
        <translation><numerusform>%n toter Link</numerusform><numerusform>%n tote Links</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n changed values</source>
        <translation><numerusform>%n geänderter Wert</numerusform><numerusform>%n geänderte Werte</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n changes</source>
        <translation><numerusform>%n Änderung</numerusform><numerusform>%n Änderungen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n changes {by} were merged into your text.</source>
        <translation><numerusform>%n Änderung {by} wurde in den Text übernommen.</numerusform><numerusform>%n Änderungen {by} wurden in den Text übernommen.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n characters</source>
        <translation><numerusform>%n Zeichen</numerusform><numerusform>%n Zeichen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n characters are left out here.</source>
        <translation><numerusform>%n Zeichen ist hier ausgelassen.</numerusform><numerusform>%n Zeichen sind hier ausgelassen.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n checks</source>
        <translation><numerusform>%n Prüfung</numerusform><numerusform>%n Prüfungen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n checks found no problems.</source>
        <translation><numerusform>%n Prüfung fand kein Problem.</numerusform><numerusform>%n Prüfungen fanden kein Problem.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n checks ›</source>
        <translation><numerusform>%n Prüfung ›</numerusform><numerusform>%n Prüfungen ›</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n crash records of this kind</source>
        <translation><numerusform>%n Absturzaufzeichnung dieser Art</numerusform><numerusform>%n Absturzaufzeichnungen dieser Art</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n days</source>
        <translation><numerusform>%n Tag</numerusform><numerusform>%n Tage</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n days ago</source>
        <translation><numerusform>vor %n Tag</numerusform><numerusform>vor %n Tagen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n dismissed findings are hidden</source>
        <translation><numerusform>%n weiterer verworfen</numerusform><numerusform>%n weitere verworfen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n drafts are damaged and were moved to separate files in Reverie's state directory.</source>
        <translation><numerusform>%n beschädigter Entwurf wurde im Zustandsverzeichnis von Reverie beiseitegelegt.</numerusform><numerusform>%n beschädigte Entwürfe wurden im Zustandsverzeichnis von Reverie beiseitegelegt.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n entries</source>
        <translation><numerusform>%n Eintrag</numerusform><numerusform>%n Einträge</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n entries are not loaded.</source>
        <translation><numerusform>%n Eintrag fällt weg.</numerusform><numerusform>%n Einträge fallen weg.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n facts no longer loaded</source>
        <translation><numerusform>%n Angabe nicht mehr geladen</numerusform><numerusform>%n Angaben nicht mehr geladen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n facts without a source</source>
        <translation><numerusform>%n ohne Quelle</numerusform><numerusform>%n ohne Quelle</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n fewer contradictions</source>
        <translation><numerusform>%n Widerspruch weniger</numerusform><numerusform>%n Widersprüche weniger</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n fewer stale statements</source>
        <translation><numerusform>%n veraltete Aussage weniger</numerusform><numerusform>%n veraltete Aussagen weniger</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files</source>
        <translation><numerusform>%n Datei</numerusform><numerusform>%n Dateien</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files are not sent because they are too large or not text files.</source>
        <translation><numerusform>%n Datei bleibt hier, weil sie zu groß oder kein Text ist.</numerusform><numerusform>%n Dateien bleiben hier, weil sie zu groß oder kein Text sind.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files cannot be changed.</source>
        <translation><numerusform>%n muss bleiben.</numerusform><numerusform>%n müssen bleiben.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files have unsaved text, which is kept as drafts.</source>
        <translation><numerusform>Der Text von %n Datei war nicht gespeichert; er ist als Entwurf da.</numerusform><numerusform>Der Text von %n Dateien war nicht gespeichert; er ist als Entwurf da.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files were left out.</source>
        <translation><numerusform>%n Datei wurde ausgelassen.</numerusform><numerusform>%n Dateien wurden ausgelassen.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files were restored.</source>
        <translation><numerusform>%n Datei wurde wiederhergestellt.</numerusform><numerusform>%n Dateien wurden wiederhergestellt.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files will be restored</source>
        <translation><numerusform>%n Datei kommt zurück</numerusform><numerusform>%n Dateien kommen zurück</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files will change</source>
        <translation><numerusform>%n Datei ändert sich</numerusform><numerusform>%n Dateien ändern sich</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n files will not change</source>
        <translation><numerusform>%n Datei bleibt unverändert</numerusform><numerusform>%n Dateien bleiben unverändert</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n hours</source>
        <translation><numerusform>%n Stunde</numerusform><numerusform>%n Stunden</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n hours ago</source>
        <translation><numerusform>vor %n Stunde</numerusform><numerusform>vor %n Stunden</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n instruction files</source>
        <translation><numerusform>%n Anweisungsdatei</numerusform><numerusform>%n Anweisungsdateien</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n items</source>
        <translation><numerusform>%n Eintrag</numerusform><numerusform>%n Einträge</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n jobs of Codex failed</source>
        <translation><numerusform>%n Auftrag von Codex scheiterte</numerusform><numerusform>%n Aufträge von Codex scheiterten</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n jobs, none failed.</source>
        <translation><numerusform>%n Auftrag, der nicht scheiterte.</numerusform><numerusform>%n Aufträge, keiner scheiterte.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n lessons</source>
        <translation><numerusform>%n Lehre</numerusform><numerusform>%n Lehren</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n lines</source>
        <translation><numerusform>%n Zeile</numerusform><numerusform>%n Zeilen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n lines are only in this memory</source>
        <translation><numerusform>%n Zeile steht nur in dieser Notiz</numerusform><numerusform>%n Zeilen stehen nur in dieser Notiz</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n lines of an unknown type</source>
        <translation><numerusform>%n Zeile unbekannter Art</numerusform><numerusform>%n Zeilen unbekannter Art</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n lines of {index} name files that do not exist.</source>
        <translation><numerusform>%n Zeile von {index} ohne Datei.</numerusform><numerusform>%n Zeilen von {index} ohne Datei.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n lines were moved to the kept memory.</source>
        <translation><numerusform>%n Zeile wurde in die Notiz verschoben, die bleibt.</numerusform><numerusform>%n Zeilen wurden in die Notiz verschoben, die bleibt.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n lines were removed.</source>
        <translation><numerusform>%n Zeile wurde entfernt.</numerusform><numerusform>%n Zeilen wurden entfernt.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n lines were reworded.</source>
        <translation><numerusform>%n Zeile wurde umformuliert.</numerusform><numerusform>%n Zeilen wurden umformuliert.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n lines would be lost:</source>
        <translation><numerusform>%n Zeile ginge verloren:</numerusform><numerusform>%n Zeilen gingen verloren:</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n matches</source>
        <translation><numerusform>%n Stelle</numerusform><numerusform>%n Stellen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n memories</source>
        <translation><numerusform>%n Notiz</numerusform><numerusform>%n Notizen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n memories are not listed in {index}.</source>
        <translation><numerusform>%n Notiz ohne Zeile in {index}.</numerusform><numerusform>%n Notizen ohne Zeile in {index}.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n memories are selected.</source>
        <translation><numerusform>%n ausgewählt.</numerusform><numerusform>%n ausgewählt.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n memories were restored.</source>
        <translation><numerusform>%n Notiz wurde wiederhergestellt.</numerusform><numerusform>%n Notizen wurden wiederhergestellt.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n minutes</source>
        <translation><numerusform>%n Minute</numerusform><numerusform>%n Minuten</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n minutes ago</source>
        <translation><numerusform>vor %n Minute</numerusform><numerusform>vor %n Minuten</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n more</source>
        <translation><numerusform>%n weiterer</numerusform><numerusform>%n weitere</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n more changes wait for the next run</source>
        <translation><numerusform>%n weitere Änderung wartet auf den nächsten Lauf</numerusform><numerusform>%n weitere Änderungen warten auf den nächsten Lauf</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n more contradictions</source>
        <translation><numerusform>%n Widerspruch mehr</numerusform><numerusform>%n Widersprüche mehr</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n more files cannot be restored.</source>
        <translation><numerusform>Ebenso für %n weitere.</numerusform><numerusform>Ebenso für %n weitere.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n more stale statements</source>
        <translation><numerusform>%n veraltete Aussage mehr</numerusform><numerusform>%n veraltete Aussagen mehr</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n more with similar words</source>
        <translation><numerusform>%n weiterer mit einem ähnlichen Wort</numerusform><numerusform>%n weitere mit ähnlichen Wörtern</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n more with some of the words</source>
        <translation><numerusform>%n weiterer mit einigen der Wörter</numerusform><numerusform>%n weitere mit einigen der Wörter</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n notes</source>
        <translation><numerusform>%n Notiz</numerusform><numerusform>%n Notizen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n notes were merged into {name}.</source>
        <translation><numerusform>%n Notiz wurde mit {name} zusammengeführt.</numerusform><numerusform>%n Notizen wurden mit {name} zusammengeführt.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n pairs</source>
        <translation><numerusform>%n Paar</numerusform><numerusform>%n Paare</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n pairs of memories are worth a look</source>
        <translation><numerusform>%n Paar von Notizen ist einen Blick wert</numerusform><numerusform>%n Paare von Notizen sind einen Blick wert</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n problems</source>
        <translation><numerusform>%n Problem</numerusform><numerusform>%n Probleme</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n projects</source>
        <translation><numerusform>%n Projekt</numerusform><numerusform>%n Projekte</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n records cannot be read.</source>
        <translation><numerusform>%n Aufzeichnung ist nicht lesbar.</numerusform><numerusform>%n Aufzeichnungen sind nicht lesbar.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n results</source>
        <translation><numerusform>%n Treffer</numerusform><numerusform>%n Treffer</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n results with similar words</source>
        <translation><numerusform>%n Treffer mit ähnlichen Wörtern</numerusform><numerusform>%n Treffer mit ähnlichen Wörtern</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n results with some of the words</source>
        <translation><numerusform>%n Treffer mit einigen der Wörter</numerusform><numerusform>%n Treffer mit einigen der Wörter</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n sessions waiting.</source>
        <translation><numerusform>%n Sitzung wartet.</numerusform><numerusform>%n Sitzungen warten.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n stale statements</source>
        <translation><numerusform>%n veraltete Aussage</numerusform><numerusform>%n veraltete Aussagen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n stale statements fixed</source>
        <translation><numerusform>%n veraltete Aussage behoben</numerusform><numerusform>%n veraltete Aussagen behoben</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n things worth a look</source>
        <translation><numerusform>%n Fund, der einen Blick wert ist</numerusform><numerusform>%n Funde, die einen Blick wert sind</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n times</source>
        <translation><numerusform>%n-mal</numerusform><numerusform>%n-mal</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n tokens</source>
        <translation><numerusform>%n Token</numerusform><numerusform>%n Tokens</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n tool calls</source>
        <translation><numerusform>%n Werkzeugaufruf</numerusform><numerusform>%n Werkzeugaufrufe</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n tool calls, no text.</source>
        <translation><numerusform>%n Werkzeugaufruf, kein Text.</numerusform><numerusform>%n Werkzeugaufrufe, kein Text.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n traces, the newest from {age}: {name}.</source>
        <translation><numerusform>%n Trace, {age}: {name}.</numerusform><numerusform>%n Traces, der neueste {age}: {name}.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n transcripts</source>
        <translation><numerusform>%n Transkript</numerusform><numerusform>%n Transkripte</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n turns ended after the last change of the state file and were not counted ({counted}): the writer was off, or its background service was not running.</source>
        <translation><numerusform>%n Zug endete, seit sie sich zuletzt änderte, und wurde nicht gezählt ({counted}): Der Schreiber war aus, oder nichts führte ihn aus.</numerusform><numerusform>%n Züge endeten, seit sie sich zuletzt änderte, und keiner wurde gezählt ({counted}): Der Schreiber war aus, oder nichts führte ihn aus.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n values in these files look like secrets; Reverie sends placeholders instead.</source>
        <translation><numerusform>%n Wert darin sieht für Reverie wie ein Geheimnis aus: Stattdessen wird ein Platzhalter gesendet.</numerusform><numerusform>%n Werte darin sehen für Reverie wie Geheimnisse aus: Stattdessen werden Platzhalter gesendet.</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n warnings</source>
        <translation><numerusform>%n Hinweis</numerusform><numerusform>%n Hinweise</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n workspaces</source>
        <translation><numerusform>%n Workspace</numerusform><numerusform>%n Workspaces</numerusform></translation>
    </message>
    <message>
        <source>&amp;About Reverie</source>
        <translation>Ü&amp;ber Reverie</translation>
    </message>
    <message>
        <source>&amp;About this memory</source>
        <translation>&amp;Zu dieser Notiz</translation>
    </message>
    <message>
        <source>&amp;Accept</source>
        <translation>&amp;Annehmen</translation>
    </message>
    <message>
        <source>&amp;Address</source>
        <translation>&amp;Adresse</translation>
    </message>
    <message>
        <source>&amp;Appearance</source>
        <translation>&amp;Erscheinungsbild</translation>
    </message>
    <message>
        <source>&amp;Ask me before removing more than</source>
        <translation>&amp;Nachfragen vor dem Entfernen von mehr als</translation>
    </message>
    <message>
        <source>&amp;At most</source>
        <translation>&amp;Höchstens</translation>
    </message>
    <message>
        <source>&amp;Begin notes at</source>
        <translation>&amp;Beginnen bei</translation>
    </message>
    <message>
        <source>&amp;Cancel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>&amp;Collapse all</source>
        <translation>Alles ein&amp;klappen</translation>
    </message>
    <message>
        <source>&amp;Compare with the disk every</source>
        <translation>&amp;Mit dem Datenträger vergleichen alle</translation>
    </message>
    <message>
        <source>&amp;Consolidate</source>
        <translation>&amp;Läufe</translation>
    </message>
    <message>
        <source>&amp;Consolidate in the background</source>
        <translation>Im Hintergrund &amp;konsolidieren</translation>
    </message>
    <message>
        <source>&amp;Copy path</source>
        <translation>Pfad &amp;kopieren</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>&amp;Löschen</translation>
    </message>
    <message>
        <source>&amp;Deleted memories</source>
        <translation>&amp;Gelöschte Erinnerungen</translation>
    </message>
    <message>
        <source>&amp;Discard</source>
        <translation>&amp;Verwerfen</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
        <source>&amp;Edit the text</source>
        <translation>Text &amp;bearbeiten</translation>
    </message>
    <message>
        <source>&amp;Editor font size</source>
        <translation>Schrift im Edi&amp;tor</translation>
    </message>
    <message>
        <source>&amp;Expand all</source>
        <translation>Alles a&amp;usklappen</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>&amp;Find in this memory</source>
        <translation>In dieser Notiz &amp;suchen</translation>
    </message>
    <message numerus="yes">
        <source>&amp;Fix %n problems…</source>
        <translation><numerusform>%n Problem &amp;beheben…</numerusform><numerusform>%n Probleme &amp;beheben…</numerusform></translation>
    </message>
    <message>
        <source>&amp;Fix stale statements</source>
        <translation>&amp;Veraltetes beheben</translation>
    </message>
    <message>
        <source>&amp;Font size</source>
        <translation>&amp;Schriftgröße</translation>
    </message>
    <message>
        <source>&amp;Go to…</source>
        <translation>&amp;Gehe zu …</translation>
    </message>
    <message>
        <source>&amp;Headers</source>
        <translation>Ko&amp;pfzeilen</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;History</source>
        <translation>&amp;Verlauf</translation>
    </message>
    <message>
        <source>&amp;Import…</source>
        <translation>&amp;Importieren …</translation>
    </message>
    <message>
        <source>&amp;Keep</source>
        <translation>&amp;Behalten</translation>
    </message>
    <message>
        <source>&amp;Keep at most</source>
        <translation>&amp;Behalten höchstens</translation>
    </message>
    <message>
        <source>&amp;Keep both (add a number to the name)</source>
        <translation>Beide &amp;behalten, mit einer Nummer</translation>
    </message>
    <message>
        <source>&amp;Keep open</source>
        <translation>&amp;Offen lassen</translation>
    </message>
    <message>
        <source>&amp;Keep session notes up to date</source>
        <translation>&amp;Sitzungsnotizen aktuell halten</translation>
    </message>
    <message>
        <source>&amp;Key</source>
        <translation>&amp;Schlüssel</translation>
    </message>
    <message>
        <source>&amp;Keyboard shortcuts</source>
        <translation>&amp;Tastenkürzel</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>S&amp;prache</translation>
    </message>
    <message>
        <source>&amp;Last runs</source>
        <translation>&amp;Letzte Läufe</translation>
    </message>
    <message>
        <source>&amp;Leave it where it is</source>
        <translation>&amp;Dort lassen, wo sie ist</translation>
    </message>
    <message>
        <source>&amp;Mark all as seen</source>
        <translation>Alle als gesehen &amp;markieren</translation>
    </message>
    <message>
        <source>&amp;Mark to take back</source>
        <translation>Zum Zurücknehmen &amp;markieren</translation>
    </message>
    <message>
        <source>&amp;Memory</source>
        <translation>&amp;Notiz</translation>
    </message>
    <message numerus="yes">
        <source>&amp;Merge and delete %n other memories</source>
        <translation><numerusform>&amp;Zusammenführen und %n andere löschen</numerusform><numerusform>&amp;Zusammenführen und %n andere löschen</numerusform></translation>
    </message>
    <message>
        <source>&amp;Move to…</source>
        <translation>&amp;Verschieben nach…</translation>
    </message>
    <message>
        <source>&amp;New memory…</source>
        <translation>&amp;Neue Notiz…</translation>
    </message>
    <message>
        <source>&amp;Next change</source>
        <translation>&amp;Nächste Änderung</translation>
    </message>
    <message>
        <source>&amp;No</source>
        <translation>&amp;Nein</translation>
    </message>
    <message>
        <source>&amp;Only what changed</source>
        <translation>Nur &amp;Geändertes</translation>
    </message>
    <message>
        <source>&amp;Open folder…</source>
        <translation>&amp;Ordner öffnen …</translation>
    </message>
    <message>
        <source>&amp;Open memory</source>
        <translation>Notiz ö&amp;ffnen</translation>
    </message>
    <message>
        <source>&amp;Pin</source>
        <translation>&amp;Anheften</translation>
    </message>
    <message>
        <source>&amp;Preview</source>
        <translation>&amp;Vorschau</translation>
    </message>
    <message>
        <source>&amp;Preview (dry run)</source>
        <translation>&amp;Vorschau (Probelauf)</translation>
    </message>
    <message>
        <source>&amp;Previous change</source>
        <translation>&amp;Vorige Änderung</translation>
    </message>
    <message>
        <source>&amp;Privacy…</source>
        <translation>&amp;Datenschutz …</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>&amp;Beenden</translation>
    </message>
    <message>
        <source>&amp;Read in parallel</source>
        <translation>&amp;Gleichzeitig lesen</translation>
    </message>
    <message>
        <source>&amp;Refresh</source>
        <translation>A&amp;ktualisieren</translation>
    </message>
    <message>
        <source>&amp;Reject</source>
        <translation>Ab&amp;lehnen</translation>
    </message>
    <message>
        <source>&amp;Reload from disk</source>
        <translation>Von der Platte &amp;neu laden</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>&amp;Umbenennen</translation>
    </message>
    <message>
        <source>&amp;Replace…</source>
        <translation>&amp;Ersetzen…</translation>
    </message>
    <message>
        <source>&amp;Resolve…</source>
        <translation>&amp;Lösen …</translation>
    </message>
    <message numerus="yes">
        <source>&amp;Restore %n memories</source>
        <translation><numerusform>%n Notiz &amp;wiederherstellen</numerusform><numerusform>%n Notizen &amp;wiederherstellen</numerusform></translation>
    </message>
    <message>
        <source>&amp;Retries</source>
        <translation>&amp;Wiederholungen</translation>
    </message>
    <message>
        <source>&amp;Run every</source>
        <translation>Lauf &amp;alle</translation>
    </message>
    <message>
        <source>&amp;Runs per day</source>
        <translation>&amp;Läufe pro Tag</translation>
    </message>
    <message>
        <source>&amp;Save</source>
        <translation>&amp;Speichern</translation>
    </message>
    <message>
        <source>&amp;Search everything</source>
        <translation>&amp;Alles durchsuchen</translation>
    </message>
    <message>
        <source>&amp;Service</source>
        <translation>&amp;Dienst</translation>
    </message>
    <message>
        <source>&amp;Source</source>
        <translation>&amp;Quelltext</translation>
    </message>
    <message>
        <source>&amp;Stop a run after</source>
        <translation>Lauf be&amp;enden nach</translation>
    </message>
    <message>
        <source>&amp;Stop an update after</source>
        <translation>Aktualisierung be&amp;enden nach</translation>
    </message>
    <message>
        <source>&amp;Stop and close</source>
        <translation>&amp;Abbrechen und schließen</translation>
    </message>
    <message>
        <source>&amp;Stop each after</source>
        <translation>Jeweils be&amp;enden nach</translation>
    </message>
    <message>
        <source>&amp;Take over</source>
        <translation>Über&amp;nehmen</translation>
    </message>
    <message>
        <source>&amp;Tell Codex…</source>
        <translation>Codex mi&amp;tteilen…</translation>
    </message>
    <message>
        <source>&amp;Tokens per day</source>
        <translation>&amp;Token pro Tag</translation>
    </message>
    <message>
        <source>&amp;Undo last change</source>
        <translation>Letzte Änderung &amp;rückgängig</translation>
    </message>
    <message>
        <source>&amp;Update every</source>
        <translation>Aktualisieren &amp;alle</translation>
    </message>
    <message>
        <source>&amp;Use mine</source>
        <translation>Meine &amp;nehmen</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>&amp;Worth a look</source>
        <translation>Einen &amp;Blick wert</translation>
    </message>
    <message>
        <source>&amp;Wrap long lines</source>
        <translation>Lange Zeilen um&amp;brechen</translation>
    </message>
    <message>
        <source>&amp;Write anyway</source>
        <translation>&amp;Trotzdem schreiben</translation>
    </message>
    <message>
        <source>&amp;Write memories during conversations</source>
        <translation>&amp;Während der Unterhaltung Notizen schreiben</translation>
    </message>
    <message numerus="yes">
        <source>+%n tokens</source>
        <translation><numerusform>+%n Token</numerusform><numerusform>+%n Token</numerusform></translation>
    </message>
    <message>
        <source>1 attempt</source>
        <translation>1 Versuch</translation>
    </message>
    <message>
        <source>1 character</source>
        <translation>1 Zeichen</translation>
    </message>
    <message>
        <source>1 entry is not loaded.</source>
        <translation>1 Eintrag fällt weg.</translation>
    </message>
    <message>
        <source>1 file</source>
        <translation>1 Datei</translation>
    </message>
    <message>
        <source>1 memory</source>
        <translation>1 Notiz</translation>
    </message>
    <message>
        <source>1 note was merged into {name}.</source>
        <translation>1 Notiz wurde in {name} zusammengeführt.</translation>
    </message>
    <message>
        <source>1 problem</source>
        <translation>1 Problem</translation>
    </message>
    <message>
        <source>1 project</source>
        <translation>1 Projekt</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 Token</translation>
    </message>
    <message>
        <source>1 workspace</source>
        <translation>1 Workspace</translation>
    </message>
    <message>
        <source>; Codex will try again at its next start.</source>
        <translation>; nächster Versuch beim nächsten Start.</translation>
    </message>
    <message numerus="yes">
        <source>; Codex will try again in %n minutes.</source>
        <translation><numerusform>; nächster Versuch in %n Minute.</numerusform><numerusform>; nächster Versuch in %n Minuten.</numerusform></translation>
    </message>
    <message>
        <source>A consolidation can run</source>
        <translation>Eine Konsolidierung kann laufen</translation>
    </message>
    <message>
        <source>A consolidation cannot start now; the Memory tab shows why.</source>
        <translation>Eine Konsolidierung ist jetzt nicht möglich; der Tab „Notizen“ zeigt den Grund.</translation>
    </message>
    <message>
        <source>A consolidation is running</source>
        <translation>Eine Konsolidierung läuft</translation>
    </message>
    <message>
        <source>A consolidation that takes longer is stopped and changes nothing.</source>
        <translation>Eine Konsolidierung, die länger braucht, wird beendet und ändert nichts.</translation>
    </message>
    <message>
        <source>A file in this home mentions this project.</source>
        <translation>Eine Datei in diesem Home nennt dieses Projekt.</translation>
    </message>
    <message>
        <source>A home may have moved</source>
        <translation>Ein Home wurde verschoben</translation>
    </message>
    <message>
        <source>A memory cannot have this name: {why}. The note stays where it is.</source>
        <translation>Keine Notiz kann diesen Namen haben: {why}. Sie bleibt, wo sie ist.</translation>
    </message>
    <message>
        <source>A pinned memory is never deleted or renamed by a consolidation</source>
        <translation>Eine angeheftete Notiz wird von einer Konsolidierung nie gelöscht oder umbenannt</translation>
    </message>
    <message>
        <source>A rollout that changed more recently is skipped because it could still be in use.</source>
        <translation>Ein Rollout, der sich später geändert hat, wird noch benutzt.</translation>
    </message>
    <message>
        <source>A run began {age} and did not finish. The next turn starts another.</source>
        <translation>Ein Lauf begann {age} und endete nie. Er gilt beim nächsten Zug als fällig.</translation>
    </message>
    <message>
        <source>A run began {age} in process {pid} and is still running ({counted}).</source>
        <translation>Ein Lauf begann {age} in Prozess {pid} und läuft noch ({counted}).</translation>
    </message>
    <message>
        <source>A run is in progress</source>
        <translation>Ein Lauf ist im Gang</translation>
    </message>
    <message>
        <source>A run is stuck</source>
        <translation>Ein Lauf hängt</translation>
    </message>
    <message>
        <source>A run that takes longer is stopped and tried again at the next turn.</source>
        <translation>Ein Lauf, der länger braucht, wird beendet und bei der nächsten Antwort wiederholt.</translation>
    </message>
    <message>
        <source>A run that would remove a larger share of a scope's lines without keeping them elsewhere waits for your review.</source>
        <translation>Ein Lauf, der mehr Zeilen eines Bereichs entfernen würde, ohne sie anderswo zu behalten, wartet auf die Durchsicht.</translation>
    </message>
    <message>
        <source>A run was due but did not start</source>
        <translation>Ein fälliger Lauf begann nicht</translation>
    </message>
    <message>
        <source>A run {age} left no trace of a failure.</source>
        <translation>Ein Lauf {age} hinterließ keinen Trace eines Fehlers.</translation>
    </message>
    <message>
        <source>A tool without a name</source>
        <translation>Ein Werkzeug ohne Namen</translation>
    </message>
    <message>
        <source>A trace records each step of a run; the Traces tab shows it.</source>
        <translation>Ein Trace zeichnet jeden Schritt eines Laufs auf; der Reiter Traces zeigt ihn.</translation>
    </message>
    <message>
        <source>A&amp;PI</source>
        <translation>A&amp;PI</translation>
    </message>
    <message>
        <source>AGENTS.override.md is loaded instead</source>
        <translation>AGENTS.override.md wird stattdessen geladen</translation>
    </message>
    <message>
        <source>According to the repository, {token} is {to} now.</source>
        <translation>Laut Repository ist {token} jetzt {to}.</translation>
    </message>
    <message>
        <source>Add a key…</source>
        <translation>Schlüssel hinzufügen …</translation>
    </message>
    <message>
        <source>Add as a &amp;second note</source>
        <translation>Eine Notiz &amp;daneben</translation>
    </message>
    <message>
        <source>Added by the agent</source>
        <translation>Vom Agenten hinzugefügt</translation>
    </message>
    <message>
        <source>After a &amp;response, or after</source>
        <translation>Oder nach der Ant&amp;wort oder</translation>
    </message>
    <message>
        <source>After a compaction</source>
        <translation>Nach einer Kompaktierung</translation>
    </message>
    <message>
        <source>After archiving</source>
        <translation>Nach dem Archivieren</translation>
    </message>
    <message>
        <source>After enough growth, an update runs at the end of a response or after this many tool calls.</source>
        <translation>Bei genug neuem Kontext läuft eine Aktualisierung am Ende einer Antwort oder nach so vielen Werkzeugaufrufen.</translation>
    </message>
    <message>
        <source>Agent versions before June 13, 2026 stored memory here; current versions do not read this directory.</source>
        <translation>Versionen vor dem 13. Juni 2026 hielten Notizen hier; heutige Agenten sehen hier nicht nach.</translation>
    </message>
    <message>
        <source>All</source>
        <translation>Alle</translation>
    </message>
    <message>
        <source>All background services are off</source>
        <translation>Kein Hintergrunddienst ist an</translation>
    </message>
    <message>
        <source>All changes</source>
        <translation>Alle Änderungen</translation>
    </message>
    <message>
        <source>All findings</source>
        <translation>Alle Funde</translation>
    </message>
    <message>
        <source>All memories</source>
        <translation>Alle Notizen</translation>
    </message>
    <message>
        <source>All runs</source>
        <translation>Alle Läufe</translation>
    </message>
    <message numerus="yes">
        <source>Also &amp;delete %n files added since then</source>
        <translation><numerusform>Auch %n seither gekommene Datei &amp;löschen</numerusform><numerusform>Auch %n seither gekommene Dateien &amp;löschen</numerusform></translation>
    </message>
    <message>
        <source>An empty file is created</source>
        <translation>Eine leere Datei wird angelegt</translation>
    </message>
    <message>
        <source>An empty file is deleted</source>
        <translation>Eine leere Datei wird gelöscht</translation>
    </message>
    <message>
        <source>An update that takes longer is stopped and leaves the notes as they were.</source>
        <translation>Eine Aktualisierung, die länger braucht, wird beendet und lässt die Notizen, wie sie waren.</translation>
    </message>
    <message>
        <source>Another program</source>
        <translation>Ein anderes Programm</translation>
    </message>
    <message>
        <source>Another program also consolidates these memories</source>
        <translation>Etwas anderes konsolidiert diese Notizen</translation>
    </message>
    <message numerus="yes">
        <source>Another program overwrote %n files that you had just saved. Reverie kept your versions.</source>
        <translation><numerusform>Ein anderes Programm hat %n Datei überschrieben, die Sie gerade gespeichert hatten; Ihr Text ist noch da.</numerusform><numerusform>Ein anderes Programm hat %n Dateien überschrieben, die Sie gerade gespeichert hatten; Ihr Text ist noch da.</numerusform></translation>
    </message>
    <message>
        <source>Another response is still being generated.</source>
        <translation>Eine weitere Antwort wird gerade geschrieben.</translation>
    </message>
    <message>
        <source>Anthropic messages</source>
        <translation>Anthropic Messages</translation>
    </message>
    <message>
        <source>Anti-patterns</source>
        <translation>Anti-Patterns</translation>
    </message>
    <message>
        <source>Anti-patterns depend on the goal of the next iteration, which is not known yet.</source>
        <translation>Die Anti-Patterns hängen vom Ziel der nächsten Iteration ab, das noch nicht bekannt ist.</translation>
    </message>
    <message>
        <source>Applied {changes} in {files}.</source>
        <translation>{changes} in {files} angewendet.</translation>
    </message>
    <message>
        <source>Applies to this home only.</source>
        <translation>Nur in diesem Home.</translation>
    </message>
    <message>
        <source>As the agent &amp;sees it</source>
        <translation>Wie der Agent es &amp;sieht</translation>
    </message>
    <message>
        <source>Assistant</source>
        <translation>Assistent</translation>
    </message>
    <message>
        <source>At startup</source>
        <translation>Beim Start</translation>
    </message>
    <message>
        <source>Attempt {attempt}</source>
        <translation>Versuch {attempt}</translation>
    </message>
    <message>
        <source>Attempt {attempt} did not try again.</source>
        <translation>Versuch {attempt} unternahm nichts mehr.</translation>
    </message>
    <message>
        <source>Attempt {attempt} responded in text.</source>
        <translation>Versuch {attempt} antwortete mit Text.</translation>
    </message>
    <message>
        <source>Attempt {attempt} then reported that there is nothing new, which is not accepted after a failed write.</source>
        <translation>Versuch {attempt} sagte dann, es gebe nichts Neues; das zählt nicht.</translation>
    </message>
    <message>
        <source>Attempt {attempt}, response {step}</source>
        <translation>Versuch {attempt}, Antwort {step}</translation>
    </message>
    <message>
        <source>Attempt {attempt}, response {step}, {label}</source>
        <translation>Versuch {attempt}, Antwort {step}, {label}</translation>
    </message>
    <message>
        <source>Attempt {attempt}, step {step}</source>
        <translation>Versuch {attempt}, Schritt {step}</translation>
    </message>
    <message>
        <source>Attempt {n}</source>
        <translation>Versuch {n}</translation>
    </message>
    <message>
        <source>Attempts</source>
        <translation>Versuche</translation>
    </message>
    <message>
        <source>Auto memory is off here ({detail}). If it were on, the agent would load this.</source>
        <translation>Das Gedächtnis ist hier aus ({detail}). Wäre es an, würde der Agent dies laden.</translation>
    </message>
    <message>
        <source>Auto memory is off: {reason}. The files are not deleted.</source>
        <translation>Das Gedächtnis ist aus: {reason}. Die Dateien bleiben.</translation>
    </message>
    <message>
        <source>Automatic</source>
        <translation>Automatisch</translation>
    </message>
    <message>
        <source>Automatic (the agent's model)</source>
        <translation>Automatisch (Modell des Agenten)</translation>
    </message>
    <message>
        <source>Background</source>
        <translation>Hintergrund</translation>
    </message>
    <message>
        <source>Background consolidation is off</source>
        <translation>Die Konsolidierung im Hintergrund ist aus</translation>
    </message>
    <message>
        <source>Background consolidation is on</source>
        <translation>Die Konsolidierung im Hintergrund ist an</translation>
    </message>
    <message>
        <source>Background consolidation reports a problem</source>
        <translation>Die Konsolidierung im Hintergrund meldet ein Problem</translation>
    </message>
    <message>
        <source>Background consolidation reports no problem</source>
        <translation>Die Konsolidierung im Hintergrund meldet kein Problem</translation>
    </message>
    <message>
        <source>Background runs</source>
        <translation>Hintergrundläufe</translation>
    </message>
    <message>
        <source>Background runs are off for this home until you turn them on. You can still consolidate by hand.</source>
        <translation>Sie ist für dieses Home aus, bis Sie sie einschalten. Von Hand können Sie trotzdem konsolidieren.</translation>
    </message>
    <message>
        <source>Background runs are on for this home.</source>
        <translation>Läufe im Hintergrund sind für dieses Home an.</translation>
    </message>
    <message>
        <source>Background services</source>
        <translation>Hintergrunddienste</translation>
    </message>
    <message>
        <source>Bad JSON</source>
        <translation>Fehlerhaftes JSON</translation>
    </message>
    <message>
        <source>Blocked by a safety check</source>
        <translation>Von einer Sicherheitsprüfung verhindert</translation>
    </message>
    <message>
        <source>Both memories/ and memories_v2/ exist, so Codex uses version 1 and ignores version 2.</source>
        <translation>memories/ liegt neben memories_v2/. Deshalb benutzt Codex Version 1 und nichts von Version 2.</translation>
    </message>
    <message>
        <source>Broken link: {target}</source>
        <translation>Führt ins Leere: {target}</translation>
    </message>
    <message>
        <source>By default, the agent's own model if it is available; otherwise no model.</source>
        <translation>Ohne Angabe das Modell des Agenten, falls es erreichbar ist, sonst kein Modell.</translation>
    </message>
    <message>
        <source>By default, the conversation's model; if there is none, the agent's default model; otherwise no model.</source>
        <translation>Ohne Angabe das Modell der Unterhaltung, sonst das übliche des Agenten, sonst kein Modell.</translation>
    </message>
    <message>
        <source>By default, the same model setting as for consolidation.</source>
        <translation>Ohne Angabe wie beim Konsolidieren.</translation>
    </message>
    <message>
        <source>By events only; where the system sends none, changes appear at the next full scan.</source>
        <translation>Nur über Ereignisse; wo das System keine meldet, zeigen sich Änderungen beim nächsten vollen Durchgang.</translation>
    </message>
    <message numerus="yes">
        <source>By file system events, in %n folders.</source>
        <translation><numerusform>Über Ereignisse, in %n Ordner.</numerusform><numerusform>Über Ereignisse, in %n Ordnern.</numerusform></translation>
    </message>
    <message>
        <source>C&amp;ancel the running consolidation</source>
        <translation>Laufende Konsolidierung &amp;abbrechen</translation>
    </message>
    <message>
        <source>C&amp;ompare</source>
        <translation>&amp;Vergleichen</translation>
    </message>
    <message>
        <source>C&amp;onsolidate</source>
        <translation>K&amp;onsolidieren</translation>
    </message>
    <message>
        <source>Cancel background runs in this home and start no more until you resume</source>
        <translation>Hintergrundläufe in diesem Home abbrechen und bis zum Fortsetzen keine weiteren beginnen</translation>
    </message>
    <message>
        <source>Cancelled</source>
        <translation>Abgebrochen</translation>
    </message>
    <message>
        <source>Cannot call tools</source>
        <translation>Kann keine Werkzeuge aufrufen</translation>
    </message>
    <message>
        <source>Cause of the newest failure, {age}: {text}</source>
        <translation>Ursache beim neuesten, {age}: {text}</translation>
    </message>
    <message>
        <source>Change</source>
        <translation>Änderung</translation>
    </message>
    <message numerus="yes">
        <source>Change %n memories together</source>
        <translation><numerusform>%n Erinnerung ändern</numerusform><numerusform>%n Erinnerungen zusammen ändern</numerusform></translation>
    </message>
    <message>
        <source>Changed</source>
        <translation>Geändert</translation>
    </message>
    <message numerus="yes">
        <source>Changed %n notes</source>
        <translation><numerusform>%n Notiz geändert</numerusform><numerusform>%n Notizen geändert</numerusform></translation>
    </message>
    <message>
        <source>Changes on disk</source>
        <translation>Änderungen auf dem Datenträger</translation>
    </message>
    <message numerus="yes">
        <source>Checked %n memories: nothing found</source>
        <translation><numerusform>%n Notiz geprüft: nichts gefunden</numerusform><numerusform>%n Notizen geprüft: nichts gefunden</numerusform></translation>
    </message>
    <message>
        <source>Checklist</source>
        <translation>Checkliste</translation>
    </message>
    <message>
        <source>Choose another model…</source>
        <translation>Anderes Modell wählen …</translation>
    </message>
    <message>
        <source>Cl&amp;ose home</source>
        <translation>Home s&amp;chließen</translation>
    </message>
    <message>
        <source>Claude Code creates it when a session starts</source>
        <translation>Claude Code schreibt sie, wenn eine Sitzung beginnt</translation>
    </message>
    <message>
        <source>Claude Code does not load every memory of this project</source>
        <translation>Claude Code lädt nicht jede Notiz dieses Projekts</translation>
    </message>
    <message>
        <source>Claude Code loads no memory of this project</source>
        <translation>Claude Code lädt keine Notiz dieses Projekts</translation>
    </message>
    <message>
        <source>Claude Code loads the memories of this project</source>
        <translation>Claude Code lädt die Notizen dieses Projekts</translation>
    </message>
    <message>
        <source>Claude Code stops reading {index} at line {line}. Shorten or remove lines.</source>
        <translation>Es liest {index} nur bis Zeile {line}; kürzen oder entfernen Sie Zeilen.</translation>
    </message>
    <message>
        <source>Codex</source>
        <translation>Codex</translation>
    </message>
    <message>
        <source>Codex does not use the memory that it has written</source>
        <translation>Codex benutzt die Notizen nicht, die es angelegt hat</translation>
    </message>
    <message>
        <source>Codex has cited {used} of {all} rollout summaries; total citations: {times}. Summaries that are never cited are deleted after 30 days.</source>
        <translation>Antworten zitierten {used} von {all} Zusammenfassungen; Zitate insgesamt: {times}. Was nie zitiert wird, entfällt nach 30 Tagen.</translation>
    </message>
    <message>
        <source>Codex has not created a memory here yet</source>
        <translation>Codex hat hier noch keine Notizen angelegt</translation>
    </message>
    <message>
        <source>Codex is consolidating now</source>
        <translation>Codex konsolidiert gerade</translation>
    </message>
    <message>
        <source>Codex is not consolidating now</source>
        <translation>Codex konsolidiert gerade nicht</translation>
    </message>
    <message>
        <source>Codex loads no memories here ({detail} is off). If it were on, Codex would load this.</source>
        <translation>Codex lädt hier keine Notizen ({detail} ist aus). Wäre es an, würde Codex dies laden.</translation>
    </message>
    <message>
        <source>Codex takes {n} at each start, {hours} after the last change and at most {days} old.</source>
        <translation>Codex nimmt bei jedem Start {n}, {hours} nach der letzten Änderung und höchstens {days} alt.</translation>
    </message>
    <message>
        <source>Codex uses memory version 1 here and adds its own instructions around the summary.</source>
        <translation>Codex verwendet hier Version 1 seines Gedächtnisses und stellt eigene Anweisungen um die Zusammenfassung.</translation>
    </message>
    <message>
        <source>Codex uses memory version 2 here and adds its own instructions around the summary.</source>
        <translation>Codex verwendet hier Version 2 seines Gedächtnisses und stellt eigene Anweisungen um die Zusammenfassung.</translation>
    </message>
    <message>
        <source>Codex uses the memory that it has written</source>
        <translation>Codex benutzt die Notizen, die es angelegt hat</translation>
    </message>
    <message>
        <source>Codex uses {name}/.</source>
        <translation>{name}/ ist in Gebrauch.</translation>
    </message>
    <message>
        <source>Codex's memory is off</source>
        <translation>Das Gedächtnis von Codex ist aus</translation>
    </message>
    <message>
        <source>Codex's memory is on</source>
        <translation>Das Gedächtnis von Codex ist an</translation>
    </message>
    <message>
        <source>Codex's memory is partly off</source>
        <translation>Das Gedächtnis von Codex ist teilweise aus</translation>
    </message>
    <message>
        <source>Codex's own jobs finished without errors</source>
        <translation>Die Aufträge von Codex endeten gut</translation>
    </message>
    <message>
        <source>Collapse every folder</source>
        <translation>Alle Ordner schließen</translation>
    </message>
    <message>
        <source>Combine &amp;both in one note</source>
        <translation>&amp;Beide in einer Notiz zusammenführen</translation>
    </message>
    <message>
        <source>Command &amp;palette…</source>
        <translation>Befehls&amp;palette…</translation>
    </message>
    <message>
        <source>Compare memories with the same content side by side, and keep one or merge them</source>
        <translation>Notizen mit demselben Inhalt nebeneinander vergleichen und eine behalten oder sie zusammenführen</translation>
    </message>
    <message>
        <source>Conflict not resolved</source>
        <translation>Konflikt nicht gelöst</translation>
    </message>
    <message>
        <source>Consolidate &amp;with</source>
        <translation>Konsolidieren &amp;mit</translation>
    </message>
    <message>
        <source>Consolidate with a model of your choice</source>
        <translation>Mit einem selbst genannten Modell konsolidieren</translation>
    </message>
    <message>
        <source>Consolidate with fixed rules and no model, with one model, or with the agent's own model if it is available.</source>
        <translation>Was konsolidiert: feste Regeln ohne Modell, ein Modell oder das Modell des Agenten, falls es erreichbar ist.</translation>
    </message>
    <message>
        <source>Consolidate without a model</source>
        <translation>Ohne Modell konsolidieren</translation>
    </message>
    <message>
        <source>Consolidates when a workspace is compacted or archived, and when Reverie starts. You can review and undo every run.</source>
        <translation>Konsolidiert, wenn ein Workspace verdichtet oder archiviert wird und wenn Reverie startet. Jeder Lauf kann durchgesehen und zurückgenommen werden.</translation>
    </message>
    <message>
        <source>Consolidation</source>
        <translation>Konsolidierung</translation>
    </message>
    <message>
        <source>Consolidations</source>
        <translation>Konsolidierungen</translation>
    </message>
    <message>
        <source>Contradiction</source>
        <translation>Widersprechen sich</translation>
    </message>
    <message>
        <source>Contradictions</source>
        <translation>Widersprüche</translation>
    </message>
    <message>
        <source>Copy &amp;path</source>
        <translation>&amp;Pfad kopieren</translation>
    </message>
    <message>
        <source>Copy file pat&amp;h</source>
        <translation>&amp;Dateipfad kopieren</translation>
    </message>
    <message>
        <source>Copy the memory path</source>
        <translation>Den Pfad der Notiz kopieren</translation>
    </message>
    <message>
        <source>Copy the path of the file on disk</source>
        <translation>Den Pfad der Datei auf der Festplatte kopieren</translation>
    </message>
    <message>
        <source>Copy the selected memories, folders or scopes to a zip file or a folder</source>
        <translation>Die gewählten Erinnerungen, Ordner oder Bereiche in eine Zip-Datei oder einen Ordner kopieren</translation>
    </message>
    <message>
        <source>Correct or remove the value in that file: Reverie never writes it.</source>
        <translation>Berichtigen oder entfernen Sie es dort: Reverie schreibt diese Datei nie.</translation>
    </message>
    <message>
        <source>Crashes</source>
        <translation>Abstürze</translation>
    </message>
    <message>
        <source>Create</source>
        <translation>Anlegen</translation>
    </message>
    <message numerus="yes">
        <source>Create %n memories</source>
        <translation><numerusform>%n Erinnerung anlegen</numerusform><numerusform>%n Erinnerungen anlegen</numerusform></translation>
    </message>
    <message>
        <source>Create a copy of the selected memory beside it</source>
        <translation>Neben der ausgewählten Notiz eine Kopie anlegen</translation>
    </message>
    <message>
        <source>Create a memory</source>
        <translation>Eine Notiz anlegen</translation>
    </message>
    <message numerus="yes">
        <source>Created %n notes</source>
        <translation><numerusform>%n Notiz angelegt</numerusform><numerusform>%n Notizen angelegt</numerusform></translation>
    </message>
    <message>
        <source>Created {name}</source>
        <translation>{name} angelegt</translation>
    </message>
    <message>
        <source>Current versions of the agent load the memory of {path} from another directory.</source>
        <translation>Der heutige Agent lädt das Gedächtnis von {path} aus einem anderen Verzeichnis, nicht aus diesem.</translation>
    </message>
    <message>
        <source>Cut description</source>
        <translation>Abgeschnittene Beschreibung</translation>
    </message>
    <message>
        <source>Damaged trace</source>
        <translation>Beschädigter Trace</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Debug logging is off</source>
        <translation>Ausführliche Protokollierung ist aus</translation>
    </message>
    <message>
        <source>Debug logging is on</source>
        <translation>Ausführliche Protokollierung ist an</translation>
    </message>
    <message>
        <source>Decision</source>
        <translation>Entscheidung</translation>
    </message>
    <message>
        <source>Decisions</source>
        <translation>Entscheidungen</translation>
    </message>
    <message>
        <source>Default: {value}</source>
        <translation>Vorgabe: {value}</translation>
    </message>
    <message numerus="yes">
        <source>Delete %n memories</source>
        <translation><numerusform>%n Erinnerung löschen</numerusform><numerusform>%n Erinnerungen löschen</numerusform></translation>
    </message>
    <message>
        <source>Delete the selection; you can undo this</source>
        <translation>Das Ausgewählte löschen; es lässt sich rückgängig machen</translation>
    </message>
    <message numerus="yes">
        <source>Deleted %n notes</source>
        <translation><numerusform>%n Notiz gelöscht</numerusform><numerusform>%n Notizen gelöscht</numerusform></translation>
    </message>
    <message>
        <source>Deleted memories</source>
        <translation>Gelöschte Erinnerungen</translation>
    </message>
    <message>
        <source>Deleted {name}</source>
        <translation>{name} gelöscht</translation>
    </message>
    <message>
        <source>Diagnose why the memory writer or a consolidation did not run</source>
        <translation>Diagnose: warum der Notizschreiber oder eine Konsolidierung nicht lief</translation>
    </message>
    <message>
        <source>Directory handbook</source>
        <translation>Handbuch eines Verzeichnisses</translation>
    </message>
    <message>
        <source>Discard this note?</source>
        <translation>Diese Notiz verwerfen?</translation>
    </message>
    <message>
        <source>Disk space is low</source>
        <translation>Der Speicherplatz ist knapp</translation>
    </message>
    <message>
        <source>Do</source>
        <translation>Tun</translation>
    </message>
    <message>
        <source>Done. {summary}</source>
        <translation>Fertig. {summary}</translation>
    </message>
    <message>
        <source>Double the daily budget of this home</source>
        <translation>Budget dieses Homes verdoppeln</translation>
    </message>
    <message>
        <source>Duplic&amp;ate</source>
        <translation>D&amp;uplizieren</translation>
    </message>
    <message>
        <source>Duplicates</source>
        <translation>Dubletten</translation>
    </message>
    <message>
        <source>Duration</source>
        <translation>Dauer</translation>
    </message>
    <message>
        <source>During a conversation, writes what the assistant learns to the memory of its project. You can review and undo every run.</source>
        <translation>Schreibt, was der Assistent lernt, während der Unterhaltung in die Notiz des Projekts. Jeder Lauf kann durchgesehen und zurückgenommen werden.</translation>
    </message>
    <message>
        <source>E&amp;xport…</source>
        <translation>E&amp;xportieren …</translation>
    </message>
    <message>
        <source>E&amp;xtract new rollouts at startup</source>
        <translation>Neue Rollouts beim Start e&amp;xtrahieren</translation>
    </message>
    <message>
        <source>E&amp;xtract rollouts…</source>
        <translation>Rollouts e&amp;xtrahieren …</translation>
    </message>
    <message>
        <source>Each result is saved as a note for Codex.</source>
        <translation>Jedes Ergebnis wird eine Notiz an Codex.</translation>
    </message>
    <message>
        <source>Edit the description and other keys of the open memory in a form</source>
        <translation>Beschreibung und andere Schlüssel der offenen Notiz als Formular</translation>
    </message>
    <message numerus="yes">
        <source>Edited %n notes</source>
        <translation><numerusform>%n Notiz bearbeitet</numerusform><numerusform>%n Notizen bearbeitet</numerusform></translation>
    </message>
    <message>
        <source>Edited {name}</source>
        <translation>{name} bearbeitet</translation>
    </message>
    <message>
        <source>Editor</source>
        <translation>Editor</translation>
    </message>
    <message>
        <source>Empty</source>
        <translation>Leer</translation>
    </message>
    <message>
        <source>End that process. The next turn starts another run.</source>
        <translation>Beenden Sie diesen Prozess; der nächste Zug startet einen neuen Lauf.</translation>
    </message>
    <message>
        <source>Episode</source>
        <translation>Episode</translation>
    </message>
    <message>
        <source>Event</source>
        <translation>Ereignis</translation>
    </message>
    <message>
        <source>Evidence</source>
        <translation>Beleg</translation>
    </message>
    <message>
        <source>Expand every folder</source>
        <translation>Alle Ordner öffnen</translation>
    </message>
    <message numerus="yes">
        <source>Exported %n memories to {target}.</source>
        <translation><numerusform>%n Erinnerung nach {target} exportiert.</numerusform><numerusform>%n Erinnerungen nach {target} exportiert.</numerusform></translation>
    </message>
    <message>
        <source>Extract memories from Codex threads and merge them</source>
        <translation>Aus dem, was in den Threads von Codex gesagt wurde, Notizen machen und sie zusammenführen</translation>
    </message>
    <message>
        <source>Extraction</source>
        <translation>Extraktion</translation>
    </message>
    <message>
        <source>Extraction by Reverie</source>
        <translation>Extraktion durch Reverie</translation>
    </message>
    <message>
        <source>Extraction turns Codex rollouts into summaries, and the summaries into a handbook for each directory. You can also start an extraction in the Consolidate menu.</source>
        <translation>Die Extraktion macht aus Rollouts von Codex Zusammenfassungen und aus diesen ein Handbuch für jedes Verzeichnis. Sie lässt sich auch im Menü Konsolidieren starten.</translation>
    </message>
    <message>
        <source>Extractions</source>
        <translation>Extraktionen</translation>
    </message>
    <message>
        <source>Failed runs</source>
        <translation>Fehlgeschlagene Läufe</translation>
    </message>
    <message>
        <source>Failures leave a trace</source>
        <translation>Fehler hinterlassen einen Trace</translation>
    </message>
    <message>
        <source>Failures leave no trace</source>
        <translation>Fehler hinterlassen keinen Trace</translation>
    </message>
    <message>
        <source>Feedback for the next &amp;attempt</source>
        <translation>An den nächsten &amp;Versuch gesendet</translation>
    </message>
    <message>
        <source>File: {path}</source>
        <translation>Datei: {path}</translation>
    </message>
    <message>
        <source>Files cannot be created in {path}.</source>
        <translation>In {path} lässt sich nichts anlegen.</translation>
    </message>
    <message>
        <source>Find &amp;next</source>
        <translation>&amp;Weitersuchen</translation>
    </message>
    <message>
        <source>Find &amp;previous</source>
        <translation>&amp;Rückwärts suchen</translation>
    </message>
    <message>
        <source>Find a command by name</source>
        <translation>Einen Befehl nach seinem Namen finden</translation>
    </message>
    <message>
        <source>Find a memory, workspace, home or setting by name</source>
        <translation>Notiz, Workspace, Home oder Einstellung nach dem Namen finden</translation>
    </message>
    <message>
        <source>Find and replace in the open memory</source>
        <translation>In der offenen Notiz suchen und ersetzen</translation>
    </message>
    <message>
        <source>Find d&amp;uplicates</source>
        <translation>D&amp;ubletten suchen</translation>
    </message>
    <message>
        <source>Find text or a regular expression in the open memory</source>
        <translation>Wörter oder einen Ausdruck in der offenen Notiz suchen</translation>
    </message>
    <message>
        <source>Fingerprint: {fingerprint}, {seen}</source>
        <translation>Fingerabdruck: {fingerprint}, {seen}</translation>
    </message>
    <message>
        <source>First seen</source>
        <translation>Zuerst gesehen</translation>
    </message>
    <message numerus="yes">
        <source>Fixed %n lines of the index</source>
        <translation><numerusform>%n Zeile des Index berichtigt</numerusform><numerusform>%n Zeilen des Index berichtigt</numerusform></translation>
    </message>
    <message>
        <source>Free up disk space.</source>
        <translation>Schaffen Sie Platz.</translation>
    </message>
    <message>
        <source>From chats: {result}</source>
        <translation>Aus Gesprächen: {result}</translation>
    </message>
    <message>
        <source>Front &amp;matter</source>
        <translation>Kop&amp;fdaten</translation>
    </message>
    <message>
        <source>Front matter</source>
        <translation>Kopfdaten</translation>
    </message>
    <message>
        <source>General</source>
        <translation>Allgemein</translation>
    </message>
    <message>
        <source>Global</source>
        <translation>Global</translation>
    </message>
    <message>
        <source>Go to &amp;editor</source>
        <translation>Zum &amp;Editor</translation>
    </message>
    <message>
        <source>Go to &amp;homes</source>
        <translation>Zu den &amp;Homes</translation>
    </message>
    <message>
        <source>Go to &amp;memories</source>
        <translation>Zu den &amp;Notizen</translation>
    </message>
    <message>
        <source>Go to the next conflict between your text and the file on disk</source>
        <translation>Zur nächsten Stelle, die hier und auf der Platte geändert wurde</translation>
    </message>
    <message>
        <source>Go to the next list or text area in the current tab</source>
        <translation>Zur Liste oder zum Text danach, im gezeigten Reiter</translation>
    </message>
    <message>
        <source>Go to the next match</source>
        <translation>Zum nächsten Treffer</translation>
    </message>
    <message>
        <source>Go to the previous conflict</source>
        <translation>Zur Stelle davor</translation>
    </message>
    <message>
        <source>Go to the previous list or text area in the current tab</source>
        <translation>Zur Liste oder zum Text davor</translation>
    </message>
    <message>
        <source>Go to the previous match</source>
        <translation>Zum Treffer davor</translation>
    </message>
    <message>
        <source>Headers to send with every request, in the form “Header: value; Another-Header: value”. Values are secret and never shown. A name without a value removes that header.</source>
        <translation>Mit jeder Anfrage gesendet, als „Header: Wert; Weiterer-Header: Wert“. Werte sind geheim und werden nie gezeigt; ein Name ohne Wert entfernt ihn.</translation>
    </message>
    <message>
        <source>Held for review.</source>
        <translation>Zur Durchsicht angehalten.</translation>
    </message>
    <message>
        <source>Hidden characters</source>
        <translation>Verborgene Zeichen</translation>
    </message>
    <message>
        <source>History</source>
        <translation>Geschichte</translation>
    </message>
    <message>
        <source>How long to wait while the service sends no data. The default is 2 minutes, or 10 minutes for a service on this machine.</source>
        <translation>Wie lange der Dienst schweigen darf. Üblich: zwei Minuten, zehn bei einem Dienst auf diesem Rechner.</translation>
    </message>
    <message>
        <source>How many times to retry a request that fails in transit.</source>
        <translation>Wie oft eine unterwegs gescheiterte Anfrage wiederholt wird.</translation>
    </message>
    <message>
        <source>How often</source>
        <translation>Wie oft</translation>
    </message>
    <message>
        <source>How often Reverie compares everything with the disk. 0 means never.</source>
        <translation>Wie oft alles mit dem Datenträger verglichen wird; 0: nie.</translation>
    </message>
    <message>
        <source>How to do something</source>
        <translation>Anleitung</translation>
    </message>
    <message>
        <source>If Reverie writes to these memories, they could be damaged, or the agent could stop reading them. Reverie asks again when the layout or version changes.</source>
        <translation>Wenn Reverie hier schreibt, könnten diese Notizen beschädigt werden, oder der Agent liest sie nicht mehr. Reverie fragt erneut, sobald sich Aufbau oder Version ändern.</translation>
    </message>
    <message>
        <source>If you save, your text overwrites the changes made by others.</source>
        <translation>Das Speichern des eigenen Textes ersetzt, was andere dort geschrieben haben.</translation>
    </message>
    <message>
        <source>Import</source>
        <translation>Import</translation>
    </message>
    <message>
        <source>Import f&amp;older…</source>
        <translation>&amp;Ordner importieren …</translation>
    </message>
    <message>
        <source>Imports</source>
        <translation>Importe</translation>
    </message>
    <message>
        <source>In a review</source>
        <translation>Beim Durchsehen von Änderungen</translation>
    </message>
    <message>
        <source>In the last 24 hours: {runs} of {most_runs} runs, {tokens} of {most_tokens} tokens.</source>
        <translation>In den letzten 24 Stunden: {runs} von {most_runs} Läufen, {tokens} von {most_tokens} Token.</translation>
    </message>
    <message>
        <source>In {where}: {problem}.</source>
        <translation>In {where}: {problem}.</translation>
    </message>
    <message>
        <source>Index</source>
        <translation>Index</translation>
    </message>
    <message>
        <source>Instruction-like text</source>
        <translation>Text wie eine Anweisung</translation>
    </message>
    <message>
        <source>Instructions</source>
        <translation>Anweisungen</translation>
    </message>
    <message>
        <source>It cannot be read ({error}).</source>
        <translation>Sie ist nicht lesbar ({error}).</translation>
    </message>
    <message>
        <source>It counts the next turn that ends normally.</source>
        <translation>Die nächste, die gut endet, zählt.</translation>
    </message>
    <message>
        <source>It has files that Reverie did not write or cannot read, so they stay unchanged.</source>
        <translation>Es enthält Dateien, die Reverie nicht geschrieben hat oder nicht lesen kann; es bleibt, wie es ist.</translation>
    </message>
    <message>
        <source>It is a broken symbolic link.</source>
        <translation>Es ist ein Link ins Leere.</translation>
    </message>
    <message>
        <source>It is chosen in the settings.</source>
        <translation>So steht es in den Einstellungen.</translation>
    </message>
    <message>
        <source>It is empty.</source>
        <translation>Es ist leer.</translation>
    </message>
    <message>
        <source>It is not valid JSON ({error}).</source>
        <translation>Sie ist kein gültiges JSON ({error}).</translation>
    </message>
    <message>
        <source>It is so long that Codex sends it in two pieces.</source>
        <translation>Sie ist so lang, dass Codex sie in zwei Teilen sendet.</translation>
    </message>
    <message>
        <source>It is the agent's default model.</source>
        <translation>Es ist das Standardmodell des Agenten.</translation>
    </message>
    <message>
        <source>It works by rules, without a model.</source>
        <translation>Es arbeitet nach Regeln, ohne Modell.</translation>
    </message>
    <message>
        <source>Its repository has the same first commit, {value}.</source>
        <translation>Das Repository beginnt mit demselben Commit, {value}.</translation>
    </message>
    <message>
        <source>Its repository has the same remote, {value}.</source>
        <translation>Das Repository hat dasselbe Remote, {value}.</translation>
    </message>
    <message>
        <source>Keep a &amp;trace of</source>
        <translation>&amp;Trace behalten von</translation>
    </message>
    <message>
        <source>Keep one notes file for each Claude Code session.</source>
        <translation>Eine Datei mit Notizen für jede Sitzung von Claude Code.</translation>
    </message>
    <message>
        <source>Keep traces of failures</source>
        <translation>Traces von Fehlern behalten</translation>
    </message>
    <message>
        <source>Keeps notes on each Claude Code session for you to read. Current versions of Claude Code do not read these notes, and delete them together with the transcript.</source>
        <translation>Führt Notizen zu jeder Sitzung von Claude Code, zum Nachlesen: heutige Versionen von Claude Code lesen sie nicht und löschen sie mit der Mitschrift.</translation>
    </message>
    <message>
        <source>Key from en&amp;vironment variable</source>
        <translation>Schlüssel aus &amp;Umgebungsvariable</translation>
    </message>
    <message>
        <source>LOKI_FAILURE_MEMORY is 0 in this environment: the agent records no failures, and the next attempt will get no lessons.</source>
        <translation>LOKI_FAILURE_MEMORY ist 0 in dieser Umgebung: Der Agent zeichnet keine Fehlschläge auf, und der nächste Versuch bekommt keine Lehren.</translation>
    </message>
    <message>
        <source>LOKI_FAILURE_MEMORY is on in this environment: the next attempt will get the lessons from failed attempts.</source>
        <translation>LOKI_FAILURE_MEMORY ist an in dieser Umgebung: Der nächste Versuch bekommt die Lehren der gescheiterten.</translation>
    </message>
    <message>
        <source>LOKI_FAILURE_MEMORY turns the lessons off.</source>
        <translation>LOKI_FAILURE_MEMORY schaltet die Lehren aus.</translation>
    </message>
    <message>
        <source>Largely the same content</source>
        <translation>Sagen weitgehend dasselbe</translation>
    </message>
    <message>
        <source>Larger text in the editor</source>
        <translation>Größerer Text im Editor</translation>
    </message>
    <message>
        <source>Last consolidation: {outcome}.</source>
        <translation>Letzte Konsolidierung: {outcome}.</translation>
    </message>
    <message>
        <source>Last time</source>
        <translation>Zuletzt</translation>
    </message>
    <message>
        <source>Left out: older than a day</source>
        <translation>Ausgelassen: älter als ein Tag</translation>
    </message>
    <message>
        <source>Left out: only the newest lessons are sent</source>
        <translation>Ausgelassen: es gibt neuere</translation>
    </message>
    <message>
        <source>Left out: stored in a namespace</source>
        <translation>Ausgelassen: in einem Namensraum</translation>
    </message>
    <message>
        <source>Lesson: {line}</source>
        <translation>Seine Zeile: {line}</translation>
    </message>
    <message>
        <source>Lessons</source>
        <translation>Lehren</translation>
    </message>
    <message>
        <source>Lessons learned</source>
        <translation>Gelernte Lektionen</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Limits</source>
        <translation>Grenzen</translation>
    </message>
    <message>
        <source>Line n&amp;umbers</source>
        <translation>Zeilenn&amp;ummern</translation>
    </message>
    <message>
        <source>Line {line}: longer than {wished} characters</source>
        <translation>Zeile {line}: länger als {wished} Zeichen</translation>
    </message>
    <message>
        <source>Line {line}: no memory has the name “{about}”</source>
        <translation>Zeile {line}: nichts heißt „{about}“</translation>
    </message>
    <message>
        <source>Line {line}: the file “{about}” does not exist</source>
        <translation>Zeile {line}: die Datei „{about}“ gibt es nicht</translation>
    </message>
    <message>
        <source>Line {line}: “{about}” is already listed</source>
        <translation>Zeile {line}: „{about}“ steht schon darin</translation>
    </message>
    <message>
        <source>Line {line}: “{about}” is not loaded</source>
        <translation>Zeile {line}: „{about}“ wird nicht geladen</translation>
    </message>
    <message>
        <source>Line {line}: “{about}” uses other Unicode characters than its file's name</source>
        <translation>Zeile {line}: „{about}“ besteht aus anderen Unicode-Zeichen als der Name der Datei</translation>
    </message>
    <message>
        <source>Line {n}</source>
        <translation>Zeile {n}</translation>
    </message>
    <message>
        <source>Lines {first}–{last}</source>
        <translation>Zeilen {first}–{last}</translation>
    </message>
    <message>
        <source>Loaded</source>
        <translation>Geladen</translation>
    </message>
    <message>
        <source>Loaded in full</source>
        <translation>Ganz geladen</translation>
    </message>
    <message>
        <source>Loaded in this session</source>
        <translation>In dieser Sitzung geladen</translation>
    </message>
    <message>
        <source>Loaded next: {names}</source>
        <translation>Als Nächstes geladen: {names}</translation>
    </message>
    <message>
        <source>Looking for duplicates…</source>
        <translation>Suche nach Dubletten…</translation>
    </message>
    <message>
        <source>Lost text</source>
        <translation>Verlorener Text</translation>
    </message>
    <message>
        <source>Lost: {text}</source>
        <translation>Verloren: {text}</translation>
    </message>
    <message>
        <source>Make {name} writable</source>
        <translation>{name} beschreibbar machen</translation>
    </message>
    <message>
        <source>Mark every memory that someone else edited as seen</source>
        <translation>Die Markierung von jeder Notiz nehmen, die jemand anders bearbeitet hat</translation>
    </message>
    <message>
        <source>Memories changed by someone else since you last viewed them</source>
        <translation>Was jemand anderes geändert hat, seit Sie es gesehen haben</translation>
    </message>
    <message numerus="yes">
        <source>Memories merged; %n redundant memories were deleted.</source>
        <translation><numerusform>Zusammengeführt; %n überflüssige Notiz wurde gelöscht.</numerusform><numerusform>Zusammengeführt; %n überflüssige Notizen wurden gelöscht.</numerusform></translation>
    </message>
    <message>
        <source>Memories that a consolidation never deletes or renames</source>
        <translation>Was eine Konsolidierung nie löscht oder umbenennt</translation>
    </message>
    <message>
        <source>Memories that contradict each other or have been superseded by a newer one</source>
        <translation>Notizen, die einander widersprechen oder von einer neueren überholt sind</translation>
    </message>
    <message>
        <source>Memories that the agent loads in full when it starts</source>
        <translation>Was der Agent beim Start vollständig lädt</translation>
    </message>
    <message>
        <source>Memories with statements about the project that are no longer true</source>
        <translation>Was über das Projekt stimmte, als es geschrieben wurde, und nicht mehr stimmt</translation>
    </message>
    <message>
        <source>Memories with the same or similar content</source>
        <translation>Notizen mit gleichem oder ähnlichem Inhalt</translation>
    </message>
    <message>
        <source>Memories with warnings, such as secret-like text, hidden characters, or text that the agent does not see</source>
        <translation>Geheimnisähnlicher Text, verborgene Zeichen, was der Agent nicht sieht und dergleichen</translation>
    </message>
    <message>
        <source>Memory summary</source>
        <translation>Zusammenfassung</translation>
    </message>
    <message>
        <source>Memory used:</source>
        <translation>Verwendetes Gedächtnis:</translation>
    </message>
    <message>
        <source>Memory writer</source>
        <translation>Notizschreiber</translation>
    </message>
    <message>
        <source>Merge duplicates and tidy up with the engine selected in Settings</source>
        <translation>Dubletten zusammenführen und aufräumen, mit der Engine aus den Einstellungen</translation>
    </message>
    <message>
        <source>Merge into {kept}</source>
        <translation>In {kept} zusammenführen</translation>
    </message>
    <message>
        <source>Merge {gone} into {kept}</source>
        <translation>{gone} in {kept} zusammenführen</translation>
    </message>
    <message>
        <source>Mode&amp;l</source>
        <translation>Mode&amp;ll</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>More</source>
        <translation>Weiteres</translation>
    </message>
    <message>
        <source>Move the selection to another folder or scope; pins and use counts are kept</source>
        <translation>Das Ausgewählte in einen anderen Ordner oder Bereich verschieben; Anheftung und Nutzungszahlen kommen mit</translation>
    </message>
    <message>
        <source>Move {name}/ out of the home</source>
        <translation>{name}/ wegnehmen</translation>
    </message>
    <message numerus="yes">
        <source>Moved %n notes</source>
        <translation><numerusform>%n Notiz verschoben</numerusform><numerusform>%n Notizen verschoben</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>Moved %n notes to {place}</source>
        <translation><numerusform>%n Notiz nach {place} verschoben</numerusform><numerusform>%n Notizen nach {place} verschoben</numerusform></translation>
    </message>
    <message>
        <source>Moved {old} to {place}</source>
        <translation>{old} nach {place} verschoben</translation>
    </message>
    <message>
        <source>Moved {old} to {place} as {name}</source>
        <translation>{old} nach {place} verschoben, jetzt {name}</translation>
    </message>
    <message>
        <source>N&amp;otice changes by</source>
        <translation>Än&amp;derungen bemerken durch</translation>
    </message>
    <message>
        <source>NUL byte</source>
        <translation>NUL-Byte</translation>
    </message>
    <message>
        <source>Name already in use</source>
        <translation>Ein Name ist vergeben</translation>
    </message>
    <message>
        <source>Ne&amp;xt tab</source>
        <translation>Nä&amp;chster Reiter</translation>
    </message>
    <message>
        <source>Never called the write tool</source>
        <translation>Hat das Schreibwerkzeug nie aufgerufen</translation>
    </message>
    <message>
        <source>New memory</source>
        <translation>Neue Notiz</translation>
    </message>
    <message>
        <source>Newer version</source>
        <translation>Eine spätere Fassung</translation>
    </message>
    <message>
        <source>Next &amp;file</source>
        <translation>Nächste &amp;Datei</translation>
    </message>
    <message>
        <source>Next attempt: {standing}</source>
        <translation>Im Block: {standing}</translation>
    </message>
    <message>
        <source>Next c&amp;onflict</source>
        <translation>Nächster K&amp;onflikt</translation>
    </message>
    <message>
        <source>Next p&amp;ane</source>
        <translation>Nächster &amp;Bereich</translation>
    </message>
    <message>
        <source>Next session: no memories are loaded</source>
        <translation>Nächste Sitzung: keine Erinnerung wird geladen</translation>
    </message>
    <message>
        <source>Next session: {size} · {parts}</source>
        <translation>Nächste Sitzung: {size} · {parts}</translation>
    </message>
    <message>
        <source>No activity in this workspace yet.</source>
        <translation>Noch nichts zu diesem Workspace.</translation>
    </message>
    <message>
        <source>No attempts have failed.</source>
        <translation>Kein Versuch ist fehlgeschlagen.</translation>
    </message>
    <message>
        <source>No background run starts once this many tokens were used in the last 24 hours. 0 allows none.</source>
        <translation>Kein Hintergrundlauf beginnt mehr, sobald in 24 Stunden so viele Token verbraucht sind; 0 erlaubt keinen.</translation>
    </message>
    <message>
        <source>No background service is needed, because none is turned on.</source>
        <translation>Nichts ist eingeschaltet, also muss nichts laufen.</translation>
    </message>
    <message>
        <source>No changes needed.</source>
        <translation>Keine Änderungen nötig.</translation>
    </message>
    <message>
        <source>No changes since your last visit ({when}).</source>
        <translation>Seit dem letzten Blick ({when}) hat sich nichts geändert.</translation>
    </message>
    <message>
        <source>No consolidation has run here.</source>
        <translation>Hier lief noch keine.</translation>
    </message>
    <message>
        <source>No crashes were recorded.</source>
        <translation>Kein Absturz wurde aufgezeichnet.</translation>
    </message>
    <message>
        <source>No description</source>
        <translation>Keine Beschreibung</translation>
    </message>
    <message>
        <source>No longer loaded: {text}</source>
        <translation>Nicht mehr geladen: {text}</translation>
    </message>
    <message>
        <source>No longer true</source>
        <translation>Stimmt nicht mehr</translation>
    </message>
    <message>
        <source>No matching memories.</source>
        <translation>Hier keine.</translation>
    </message>
    <message>
        <source>No memories to load.</source>
        <translation>Nichts zu laden.</translation>
    </message>
    <message>
        <source>No memories yet. Press Ctrl+N to create the first one.</source>
        <translation>Noch nichts hier. Strg+N legt die erste Notiz an.</translation>
    </message>
    <message>
        <source>No memory is written for this workspace</source>
        <translation>Für diesen Workspace werden keine Notizen geschrieben</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Kein Modell</translation>
    </message>
    <message>
        <source>No model is configured.</source>
        <translation>Kein Modell ist eingerichtet.</translation>
    </message>
    <message>
        <source>No other program consolidates these memories</source>
        <translation>Nichts anderes konsolidiert diese Notizen</translation>
    </message>
    <message>
        <source>No process runs them for this home. Leave the window open, or run `reverie watch`.</source>
        <translation>Für dieses Home laufen sie nirgends. Lassen Sie das Fenster offen oder starten Sie `reverie watch`.</translation>
    </message>
    <message>
        <source>No request was sent to the model.</source>
        <translation>Das Modell wurde nie gefragt.</translation>
    </message>
    <message>
        <source>No run of the agent's memory writer left a trace, so no failure is known.</source>
        <translation>Keiner seiner Läufe hinterließ einen Trace; von einem Fehler ist also nichts bekannt.</translation>
    </message>
    <message>
        <source>No runs</source>
        <translation>Keinem Lauf</translation>
    </message>
    <message>
        <source>No sessions waiting.</source>
        <translation>Keine Sitzungen warten.</translation>
    </message>
    <message>
        <source>No source: {text}</source>
        <translation>Ohne Quelle: {text}</translation>
    </message>
    <message>
        <source>No transcript yet</source>
        <translation>Noch keine Mitschrift</translation>
    </message>
    <message>
        <source>No turn was counted yet</source>
        <translation>Noch kein Zug wurde gezählt</translation>
    </message>
    <message>
        <source>No workspace is selected.</source>
        <translation>Kein Workspace ist gewählt.</translation>
    </message>
    <message>
        <source>No workspace is selected. Select one that has turns.</source>
        <translation>Kein Workspace ist gewählt. Wählen Sie einen mit Zügen.</translation>
    </message>
    <message>
        <source>None of the newest {n} traces is from the writer.</source>
        <translation>Keine der neuesten {n} Spuren stammt von seinen Läufen.</translation>
    </message>
    <message>
        <source>Not available now.</source>
        <translation>Jetzt nicht möglich.</translation>
    </message>
    <message>
        <source>Not checked: {folders}.</source>
        <translation>Nicht geprüft: {folders}.</translation>
    </message>
    <message>
        <source>Not consolidated yet</source>
        <translation>Noch nicht konsolidiert</translation>
    </message>
    <message>
        <source>Not seen by the agent</source>
        <translation>Vom Agenten nicht gesehen</translation>
    </message>
    <message>
        <source>Not valid UTF-8</source>
        <translation>Kein gültiges UTF-8</translation>
    </message>
    <message>
        <source>Notes at the top level of memory/</source>
        <translation>Notizen auf der obersten Ebene von memory/</translation>
    </message>
    <message>
        <source>Nothing has failed here</source>
        <translation>Hier ist nichts fehlgeschlagen</translation>
    </message>
    <message>
        <source>Nothing here is dated in the future.</source>
        <translation>Nichts hier liegt in der Zukunft.</translation>
    </message>
    <message>
        <source>Nothing in this home shows which memories its agent loads.</source>
        <translation>Nichts in diesem Home verrät, welche Notizen sein Agent lädt.</translation>
    </message>
    <message>
        <source>Nothing is running.</source>
        <translation>Nichts läuft.</translation>
    </message>
    <message>
        <source>Nothing is sent.</source>
        <translation>Nichts wird gesendet.</translation>
    </message>
    <message>
        <source>Nothing to restore: no file differs from this version.</source>
        <translation>Nichts wiederherzustellen: Es ist wie damals.</translation>
    </message>
    <message>
        <source>Nothing to write</source>
        <translation>Nichts zu schreiben</translation>
    </message>
    <message>
        <source>OK</source>
        <translation>in Ordnung</translation>
    </message>
    <message numerus="yes">
        <source>Only the first %n files are listed.</source>
        <translation><numerusform>Nur %n Datei ist aufgeführt.</numerusform><numerusform>Die ersten %n Dateien sind aufgeführt.</numerusform></translation>
    </message>
    <message>
        <source>Open a home first.</source>
        <translation>Zuerst ein Home öffnen.</translation>
    </message>
    <message>
        <source>Open a memory first.</source>
        <translation>Zuerst eine Notiz öffnen.</translation>
    </message>
    <message>
        <source>Open a temporary copy of the demo home</source>
        <translation>Eine Wegwerfkopie des Demo-Homes öffnen</translation>
    </message>
    <message>
        <source>Open the folder of the selected file in the file manager</source>
        <translation>Den Ordner der ausgewählten Datei im Dateimanager öffnen</translation>
    </message>
    <message>
        <source>Open the home directory of an agent</source>
        <translation>Das Verzeichnis öffnen, in dem ein Agent seine Notizen hat</translation>
    </message>
    <message>
        <source>Open the selected memory in the editor</source>
        <translation>Die ausgewählte Notiz im Editor öffnen</translation>
    </message>
    <message>
        <source>OpenAI chat completions</source>
        <translation>OpenAI Chat Completions</translation>
    </message>
    <message>
        <source>OpenAI responses</source>
        <translation>OpenAI Responses</translation>
    </message>
    <message>
        <source>Parts of its memory that Codex has used</source>
        <translation>Was Codex von seinen Notizen benutzte</translation>
    </message>
    <message>
        <source>Pause &amp;background services</source>
        <translation>&amp;Hintergrunddienste anhalten</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>Phase</translation>
    </message>
    <message>
        <source>Picked up</source>
        <translation>Aufgelesen</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Polling only</source>
        <translation>Nur Abfragen</translation>
    </message>
    <message>
        <source>Polling reads every folder again at regular intervals. Some network drives need it because they do not report changes. Takes effect at the next start.</source>
        <translation>Beim Abfragen wird jeder Ordner immer wieder gelesen; manche Netzlaufwerke melden Änderungen sonst nicht. Ab dem nächsten Start.</translation>
    </message>
    <message>
        <source>Pre&amp;vious file</source>
        <translation>Vor&amp;ige Datei</translation>
    </message>
    <message>
        <source>Pre&amp;vious pane</source>
        <translation>&amp;Voriger Bereich</translation>
    </message>
    <message>
        <source>Preference</source>
        <translation>Vorliebe</translation>
    </message>
    <message>
        <source>Preview</source>
        <translation>Vorschau</translation>
    </message>
    <message>
        <source>Preview: nothing has been changed yet. {summary}</source>
        <translation>Vorschau: Noch wurde nichts geändert. {summary}</translation>
    </message>
    <message>
        <source>Previous confli&amp;ct</source>
        <translation>Voriger Konfli&amp;kt</translation>
    </message>
    <message>
        <source>Previous ta&amp;b</source>
        <translation>Vori&amp;ger Reiter</translation>
    </message>
    <message>
        <source>Problems</source>
        <translation>Probleme</translation>
    </message>
    <message>
        <source>Project</source>
        <translation>Projekt</translation>
    </message>
    <message>
        <source>Proposals</source>
        <translation>Vorschläge</translation>
    </message>
    <message>
        <source>Propose memories from a folder; you review them before anything changes</source>
        <translation>Erinnerungen aus einem Ordner vorschlagen; Sie prüfen sie, bevor sich etwas ändert</translation>
    </message>
    <message>
        <source>Propose memories from a zip file or a text file; you review them before anything changes</source>
        <translation>Erinnerungen aus einer Zip- oder Textdatei vorschlagen; Sie prüfen sie, bevor sich etwas ändert</translation>
    </message>
    <message>
        <source>Provider error</source>
        <translation>Fehler des Anbieters</translation>
    </message>
    <message>
        <source>Reached a limit</source>
        <translation>An eine Grenze gestoßen</translation>
    </message>
    <message>
        <source>Read all files again</source>
        <translation>Alles noch einmal lesen</translation>
    </message>
    <message>
        <source>Reading direction</source>
        <translation>Schreibrichtung</translation>
    </message>
    <message>
        <source>Reading the memories…</source>
        <translation>Die Notizen werden gelesen…</translation>
    </message>
    <message>
        <source>Reasoning</source>
        <translation>Überlegung</translation>
    </message>
    <message>
        <source>Record</source>
        <translation>Aufzeichnung</translation>
    </message>
    <message>
        <source>Records, newest first:</source>
        <translation>Aufzeichnungen, neueste zuerst:</translation>
    </message>
    <message>
        <source>Recovery</source>
        <translation>Wiederherstellung</translation>
    </message>
    <message>
        <source>Red&amp;o last change</source>
        <translation>Letzte Änderung &amp;wiederholen</translation>
    </message>
    <message>
        <source>Redo the last undone change</source>
        <translation>Das zuletzt Zurückgenommene noch einmal tun</translation>
    </message>
    <message>
        <source>Remove the empty {name}/</source>
        <translation>Das leere {name}/ entfernen</translation>
    </message>
    <message>
        <source>Remove the selected home from the list; its files remain on disk</source>
        <translation>Das ausgewählte Home aus der Liste nehmen; seine Dateien bleiben auf der Platte</translation>
    </message>
    <message numerus="yes">
        <source>Rename %n memories</source>
        <translation><numerusform>%n Erinnerung umbenennen</numerusform><numerusform>%n Erinnerungen umbenennen</numerusform></translation>
    </message>
    <message>
        <source>Rename the selected memory or folder</source>
        <translation>Der ausgewählten Notiz oder dem Ordner einen anderen Namen geben</translation>
    </message>
    <message>
        <source>Rename {name} and keep it as a backup</source>
        <translation>{name} beiseitelegen</translation>
    </message>
    <message>
        <source>Renamed from {name}</source>
        <translation>Umbenannt von {name}</translation>
    </message>
    <message>
        <source>Renamed {old} to {name}</source>
        <translation>{old} in {name} umbenannt</translation>
    </message>
    <message>
        <source>Replay</source>
        <translation>Wiederholung</translation>
    </message>
    <message>
        <source>Replay…</source>
        <translation>Wiederholen …</translation>
    </message>
    <message>
        <source>Resembles an instruction to a model</source>
        <translation>Liest sich wie eine Anweisung an ein Modell</translation>
    </message>
    <message>
        <source>Resolution: {text}</source>
        <translation>Lösung: {text}</translation>
    </message>
    <message>
        <source>Resolve this conflict with the lines on disk</source>
        <translation>Bei diesem Konflikt nehmen, was auf der Platte steht</translation>
    </message>
    <message>
        <source>Resolve this conflict with your lines</source>
        <translation>Bei diesem Konflikt weglassen, was auf der Platte steht</translation>
    </message>
    <message>
        <source>Resolve this conflict with your lines, followed by the lines on disk</source>
        <translation>Bei diesem Konflikt die eigenen Zeilen behalten, dann die auf der Platte</translation>
    </message>
    <message>
        <source>Responded with text only</source>
        <translation>Mit Text geantwortet</translation>
    </message>
    <message>
        <source>Responses</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Result</source>
        <translation>Ergebnis</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Resume background runs</source>
        <translation>Hintergrundläufe fortsetzen</translation>
    </message>
    <message>
        <source>Reverie could not find out which project these notes belong to. Choose a project.</source>
        <translation>Reverie konnte nicht herausfinden, zu welchem Projekt diese Notizen gehören. Wählen Sie ein Projekt aus.</translation>
    </message>
    <message>
        <source>Reverie could not find the project's new location. Choose the project that these notes should be merged into.</source>
        <translation>Reverie konnte den neuen Ort des Projekts nicht finden. Wählen Sie das Projekt aus, mit dem diese Notizen zusammengeführt werden sollen.</translation>
    </message>
    <message numerus="yes">
        <source>Reverie could not process changes %n times; the log has the reason.</source>
        <translation><numerusform>Änderungen ließen sich %n-mal nicht weitergeben; das Protokoll sagt, warum.</numerusform><numerusform>Änderungen ließen sich %n-mal nicht weitergeben; das Protokoll sagt, warum.</numerusform></translation>
    </message>
    <message>
        <source>Reverie created it.</source>
        <translation>Reverie hat es angelegt.</translation>
    </message>
    <message>
        <source>Reverie deletes older traces, but only those that it wrote itself.</source>
        <translation>Ältere Traces werden gelöscht, aber nur die von Reverie.</translation>
    </message>
    <message>
        <source>Reverie does not know this layout</source>
        <translation>Reverie kennt dieses Format nicht</translation>
    </message>
    <message>
        <source>Reverie itself: {facts}</source>
        <translation>Reverie selbst: {facts}</translation>
    </message>
    <message>
        <source>Reverie knows this layout</source>
        <translation>Reverie kennt dieses Format</translation>
    </message>
    <message>
        <source>Reverie may notice changes on disk late</source>
        <translation>Änderungen auf der Platte werden vielleicht spät bemerkt</translation>
    </message>
    <message>
        <source>Reverie notices changes on disk</source>
        <translation>Änderungen auf der Platte werden bemerkt</translation>
    </message>
    <message>
        <source>Reverie recognizes all layouts and versions found here.</source>
        <translation>Alle Formate und Versionen hier sind bekannt.</translation>
    </message>
    <message>
        <source>Reverie scans the folders every few seconds.</source>
        <translation>Die Ordner werden alle paar Sekunden durchsucht.</translation>
    </message>
    <message>
        <source>Reverie's rules do not explain {detail} of these files: a setting changed, or the rules are wrong.</source>
        <translation>Reveries Regeln erklären {detail} davon nicht: Eine Einstellung hat sich geändert, oder sie sind falsch.</translation>
    </message>
    <message>
        <source>Reverie's rules explain everything that was loaded.</source>
        <translation>Reveries Regeln erklären alles davon.</translation>
    </message>
    <message>
        <source>Reverie's settings</source>
        <translation>den Einstellungen von Reverie</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>Lauf</translation>
    </message>
    <message>
        <source>Run the memory writer now</source>
        <translation>Jetzt schreiben</translation>
    </message>
    <message>
        <source>Run with &amp;model…</source>
        <translation>Mit &amp;Modell ausführen…</translation>
    </message>
    <message>
        <source>Run with &amp;rules</source>
        <translation>Mit &amp;Regeln ausführen</translation>
    </message>
    <message>
        <source>Running: {holder}.</source>
        <translation>Läuft: {holder}.</translation>
    </message>
    <message>
        <source>Runs when the background services of a Codex home start.</source>
        <translation>Läuft, wenn die Hintergrunddienste eines Codex-Homes starten.</translation>
    </message>
    <message>
        <source>S&amp;kip if changed in the last</source>
        <translation>&amp;Auslassen bei Änderung in den letzten</translation>
    </message>
    <message>
        <source>Same as for consolidation</source>
        <translation>Wie beim Konsolidieren</translation>
    </message>
    <message>
        <source>Same as the window</source>
        <translation>Wie das Fenster</translation>
    </message>
    <message>
        <source>Save &amp;mine</source>
        <translation>&amp;Meine speichern</translation>
    </message>
    <message>
        <source>Save a&amp;ll</source>
        <translation>A&amp;lles speichern</translation>
    </message>
    <message>
        <source>Save every edited memory</source>
        <translation>Alle bearbeiteten Notizen speichern</translation>
    </message>
    <message>
        <source>Save the open memory</source>
        <translation>Die offene Notiz speichern</translation>
    </message>
    <message>
        <source>Save your changes before closing?</source>
        <translation>Änderungen vor dem Schließen speichern?</translation>
    </message>
    <message>
        <source>Se&amp;ttings…</source>
        <translation>Eins&amp;tellungen…</translation>
    </message>
    <message>
        <source>Search the names and contents of all memories in all open homes</source>
        <translation>Namen und Inhalte aller Notizen aller offenen Homes</translation>
    </message>
    <message>
        <source>Searching this text with this regular expression takes too long. Simplify the expression.</source>
        <translation>Die Suche mit diesem regulären Ausdruck dauert in diesem Text zu lange. Vereinfachen Sie den Ausdruck.</translation>
    </message>
    <message>
        <source>Secret</source>
        <translation>Ein Geheimnis</translation>
    </message>
    <message>
        <source>Secret-like text</source>
        <translation>Text wie ein Geheimnis</translation>
    </message>
    <message>
        <source>Secrets, suspicious instructions, hidden or damaged text</source>
        <translation>Geheimnisse, verdächtige Anweisungen, unsichtbarer oder beschädigter Text</translation>
    </message>
    <message>
        <source>Select a file on this computer first.</source>
        <translation>Wählen Sie zuerst eine Datei auf diesem Rechner aus.</translation>
    </message>
    <message>
        <source>Select a memory first.</source>
        <translation>Zuerst eine Notiz auswählen.</translation>
    </message>
    <message>
        <source>Select a memory or a folder first.</source>
        <translation>Zuerst eine Notiz oder einen Ordner auswählen.</translation>
    </message>
    <message>
        <source>Select a workspace or a project first.</source>
        <translation>Zuerst einen Workspace oder ein Projekt auswählen.</translation>
    </message>
    <message>
        <source>Send a message in the workspace while the background services are running.</source>
        <translation>Sagen Sie etwas im Workspace, während die Hintergrunddienste laufen.</translation>
    </message>
    <message>
        <source>Services in another process</source>
        <translation>Dienste anderswo</translation>
    </message>
    <message>
        <source>Services on</source>
        <translation>Dienste an</translation>
    </message>
    <message>
        <source>Services paused</source>
        <translation>Dienste angehalten</translation>
    </message>
    <message>
        <source>Services waiting</source>
        <translation>Dienste warten</translation>
    </message>
    <message>
        <source>Session notes</source>
        <translation>Sitzungsnotizen</translation>
    </message>
    <message>
        <source>Sessions that Codex may extract</source>
        <translation>Sitzungen, die Codex auswerten darf</translation>
    </message>
    <message>
        <source>Set the editor's text to the size of the interface text</source>
        <translation>Den Text des Editors so groß wie den der Oberfläche</translation>
    </message>
    <message>
        <source>Set the engine, models, keys and background runs</source>
        <translation>Engine, Modelle, Schlüssel und was im Hintergrund läuft</translation>
    </message>
    <message>
        <source>Set the interval to {turns}</source>
        <translation>Abstand auf {turns} setzen</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Should it take over the old home's history and runs? Choose No if it is another home or a copy.</source>
        <translation>Soll es den Verlauf und die Läufe des alten Homes übernehmen? Bei einem anderen Home oder einer Kopie: Nein.</translation>
    </message>
    <message>
        <source>Show &amp;homes</source>
        <translation>&amp;Homes zeigen</translation>
    </message>
    <message>
        <source>Show &amp;log</source>
        <translation>&amp;Protokoll zeigen</translation>
    </message>
    <message>
        <source>Show &amp;memories</source>
        <translation>&amp;Notizen zeigen</translation>
    </message>
    <message>
        <source>Show &amp;orphaned stores</source>
        <translation>&amp;Verwaiste Ablagen zeigen</translation>
    </message>
    <message>
        <source>Show &amp;traces</source>
        <translation>&amp;Traces zeigen</translation>
    </message>
    <message>
        <source>Show all che&amp;cks</source>
        <translation>Alle Prüf&amp;ungen zeigen</translation>
    </message>
    <message>
        <source>Show chan&amp;ges</source>
        <translation>Ä&amp;nderungen zeigen</translation>
    </message>
    <message>
        <source>Show each run's prompt, input and actions, and why a run wrote nothing</source>
        <translation>Warum nichts passiert ist: was jeder Lauf gefragt, bekommen und getan hat</translation>
    </message>
    <message>
        <source>Show exactly what the agent loads now, and why each memory is included or not</source>
        <translation>Genau das, was der Agent jetzt lädt, und warum jede Notiz dabei ist oder nicht</translation>
    </message>
    <message>
        <source>Show in file mana&amp;ger</source>
        <translation>Im Datei&amp;manager zeigen</translation>
    </message>
    <message>
        <source>Show line &amp;numbers</source>
        <translation>Zeilen&amp;nummern zeigen</translation>
    </message>
    <message>
        <source>Show line numbers</source>
        <translation>Die Zeilen des Textes nummerieren</translation>
    </message>
    <message>
        <source>Show line numbers next to the text in the editor.</source>
        <translation>Neben dem Text im Editor.</translation>
    </message>
    <message>
        <source>Show memories that no project or workspace uses, and merge them into the right project</source>
        <translation>Notizen, auf die kein Projekt oder Workspace zeigt, und wie sie dahin kommen, wo sie hingehören</translation>
    </message>
    <message>
        <source>Show memories that repeat or contradict each other, superseded statements, secrets and more</source>
        <translation>Notizen, die dasselbe sagen oder sich widersprechen, Überholtes, Geheimnisse und mehr</translation>
    </message>
    <message>
        <source>Show memories, editor and consolidation</source>
        <translation>Notizen, Editor und Konsolidierung</translation>
    </message>
    <message>
        <source>Show only memories changed by someone else since you last viewed them</source>
        <translation>Nur zeigen, was jemand anders seit dem letzten Blick geändert hat</translation>
    </message>
    <message>
        <source>Show or hide the list of homes</source>
        <translation>Die Liste der Homes ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Show or hide the problems in this index</source>
        <translation>Die Probleme in diesem Index zeigen oder verbergen</translation>
    </message>
    <message>
        <source>Show or hide the warnings for this memory</source>
        <translation>Die Hinweise zu dieser Notiz ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Show statements about the project that are no longer true, and since which commit</source>
        <translation>Was die Notizen über das Projekt sagen und nicht mehr stimmt, und seit welchem Commit</translation>
    </message>
    <message>
        <source>Show the agent's own records of its extractions and consolidations</source>
        <translation>Was der Agent selbst von seinen Extraktionen und Konsolidierungen sagt</translation>
    </message>
    <message>
        <source>Show the deleted memories and who deleted them, and restore them</source>
        <translation>Was gelöscht wurde, von wem, und wie es zurückkommt</translation>
    </message>
    <message>
        <source>Show the finding again</source>
        <translation>Wieder zeigen</translation>
    </message>
    <message>
        <source>Show the largest memories first in each folder</source>
        <translation>Die größten kommen in jedem Ordner zuerst</translation>
    </message>
    <message>
        <source>Show the lessons, warnings and crashes that the agent learns from</source>
        <translation>Lehren, Warnungen und Abstürze, aus denen der Agent lernt</translation>
    </message>
    <message>
        <source>Show the most recently changed memories first in each folder</source>
        <translation>Was zuletzt geschrieben wurde, kommt in jedem Ordner zuerst</translation>
    </message>
    <message>
        <source>Show the most used memories first in each folder</source>
        <translation>Was der Agent am meisten benutzt hat, kommt in jedem Ordner zuerst</translation>
    </message>
    <message>
        <source>Show the rendered text</source>
        <translation>Zeigen, wie der Text aussieht</translation>
    </message>
    <message>
        <source>Show the source and the rendered text side by side</source>
        <translation>Den Text zeigen, und wie er aussieht</translation>
    </message>
    <message>
        <source>Show the source text</source>
        <translation>Den Text zeigen, wie er auf der Platte steht</translation>
    </message>
    <message>
        <source>Show the version on disk; Ctrl+Z restores your text</source>
        <translation>Die Fassung auf der Platte zeigen; Strg+Z holt den eigenen Text zurück</translation>
    </message>
    <message>
        <source>Show tra&amp;nscripts</source>
        <translation>&amp;Mitschriften zeigen</translation>
    </message>
    <message>
        <source>Show two selected memories side by side, and copy differences from one to the other</source>
        <translation>Zwei gewählte Erinnerungen nebeneinander zeigen und Unterschiede von einer in die andere kopieren</translation>
    </message>
    <message>
        <source>Show usage, size, recent changes and warnings for the open memory</source>
        <translation>Nutzung, Größe, letzte Änderungen und Warnungen der offenen Notiz</translation>
    </message>
    <message>
        <source>Show what Reverie reads, what it never reads, what runs in the background, and where text is sent</source>
        <translation>Was Reverie liest und nie liest, was von selbst läuft, wohin Text geht</translation>
    </message>
    <message>
        <source>Show what a consolidation would change, and choose which changes to apply</source>
        <translation>Zeigen, was eine Konsolidierung täte, daraus auswählen und erst dann anwenden</translation>
    </message>
    <message>
        <source>Show what changed and who changed it, and undo changes</source>
        <translation>Was sich änderte, durch wen, und es zurücknehmen</translation>
    </message>
    <message>
        <source>Show what past runs changed, and undo them</source>
        <translation>Was frühere Läufe geändert haben, und wie es rückgängig wird</translation>
    </message>
    <message>
        <source>Show what the background services did, and why</source>
        <translation>Was die Hintergrunddienste getan haben und warum</translation>
    </message>
    <message>
        <source>Show who changed the memory, when and how, and restore earlier versions</source>
        <translation>Wer sie wann geändert hat, was jede Änderung war, und wie zurückkommt, was da war</translation>
    </message>
    <message>
        <source>Show your conversations with the agent, session by session</source>
        <translation>Was zwischen Ihnen und dem Agenten gesagt wurde, Sitzung für Sitzung</translation>
    </message>
    <message>
        <source>Side &amp;by side</source>
        <translation>N&amp;ebeneinander</translation>
    </message>
    <message>
        <source>Similar, but different</source>
        <translation>Ähnlich, aber verschieden</translation>
    </message>
    <message>
        <source>Since your last visit ({when}): {changes}. Change in size: {tokens} tokens.</source>
        <translation>Seit dem letzten Blick ({when}): {changes}. Änderung der Größe: {tokens} Tokens.</translation>
    </message>
    <message>
        <source>Since {age}: {purpose}.</source>
        <translation>Seit {age}: {purpose}.</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>Smaller text in the editor</source>
        <translation>Kleinerer Text im Editor</translation>
    </message>
    <message>
        <source>Some files could not be saved, so the home remains open.</source>
        <translation>Nicht alles konnte gespeichert werden; das Home bleibt offen.</translation>
    </message>
    <message>
        <source>Some files could not be saved, so the window remains open.</source>
        <translation>Nicht alles konnte gespeichert werden; das Fenster bleibt offen.</translation>
    </message>
    <message>
        <source>Some lines look the same but differ in: {found}.</source>
        <translation>Zeilen, die gleich aussehen, unterscheiden sich durch: {found}.</translation>
    </message>
    <message>
        <source>Some memories are longer than 4,096 bytes; the model gets only that much of each.</source>
        <translation>Manche Erinnerungen sind länger als die 4.096 Bytes, die von jeder das Modell erreichen.</translation>
    </message>
    <message>
        <source>Sort by &amp;name</source>
        <translation>Nach &amp;Name ordnen</translation>
    </message>
    <message>
        <source>Sort by &amp;use</source>
        <translation>Nach N&amp;utzung ordnen</translation>
    </message>
    <message>
        <source>Sort by last c&amp;hange</source>
        <translation>Nach letzter &amp;Änderung ordnen</translation>
    </message>
    <message>
        <source>Sort by si&amp;ze</source>
        <translation>Nach &amp;Größe ordnen</translation>
    </message>
    <message>
        <source>Stack:</source>
        <translation>Stapel:</translation>
    </message>
    <message>
        <source>Stale</source>
        <translation>Veraltet</translation>
    </message>
    <message>
        <source>Start taking notes once the context of a session reaches this size.</source>
        <translation>Notizen beginnen, sobald der Kontext einer Sitzung so groß ist.</translation>
    </message>
    <message>
        <source>Started</source>
        <translation>Begonnen</translation>
    </message>
    <message>
        <source>State</source>
        <translation>Zustand</translation>
    </message>
    <message>
        <source>Statements about the project that are no longer true</source>
        <translation>Aussagen über das Projekt, die nicht mehr stimmen</translation>
    </message>
    <message>
        <source>Still &amp;true?</source>
        <translation>Stimmt es &amp;noch?</translation>
    </message>
    <message>
        <source>Stop before the next change</source>
        <translation>Vor der nächsten Änderung anhalten</translation>
    </message>
    <message>
        <source>Stop the run and close?</source>
        <translation>Den Lauf abbrechen und schließen?</translation>
    </message>
    <message>
        <source>Summary of earlier messages</source>
        <translation>Zusammenfassung des Vorigen</translation>
    </message>
    <message>
        <source>Superseded</source>
        <translation>Überholt</translation>
    </message>
    <message>
        <source>System</source>
        <translation>System</translation>
    </message>
    <message>
        <source>System events only</source>
        <translation>Nur Ereignisse des Systems</translation>
    </message>
    <message>
        <source>System events, otherwise polling</source>
        <translation>Ereignisse, sonst Abfragen</translation>
    </message>
    <message>
        <source>T&amp;imeout</source>
        <translation>Ze&amp;itlimit</translation>
    </message>
    <message>
        <source>Take &amp;back now</source>
        <translation>&amp;Jetzt zurücknehmen</translation>
    </message>
    <message>
        <source>Taken from the session's transcript. The other parts are what a new session would load.</source>
        <translation>Aus dem Transkript der Sitzung. Die anderen Teile sind das, was eine neue Sitzung laden würde.</translation>
    </message>
    <message>
        <source>Takes effect at the next start.</source>
        <translation>Ab dem nächsten Start.</translation>
    </message>
    <message>
        <source>Task</source>
        <translation>Aufgabe</translation>
    </message>
    <message>
        <source>Task notes</source>
        <translation>Notizen zu einer Aufgabe</translation>
    </message>
    <message>
        <source>Text for the next attempt</source>
        <translation>Was der nächste Versuch bekommt</translation>
    </message>
    <message>
        <source>The API of the service. Automatic selects the default API for this service.</source>
        <translation>Die Schnittstelle des Dienstes. Automatisch: die übliche für diesen Dienst.</translation>
    </message>
    <message>
        <source>The address of the service. Leave empty to use the default address.</source>
        <translation>Wo der Dienst ist. Leer: seine übliche Adresse.</translation>
    </message>
    <message>
        <source>The agent</source>
        <translation>Der Agent</translation>
    </message>
    <message>
        <source>The agent adds fixed sentences around this part. Reverie shows them in its own words.</source>
        <translation>Die festen Sätze des Agenten darum herum sind von Reverie formuliert.</translation>
    </message>
    <message>
        <source>The agent adds lines of its own around each file.</source>
        <translation>Der Agent setzt um jede Datei eigene Zeilen.</translation>
    </message>
    <message>
        <source>The agent does not load the file</source>
        <translation>Der Agent lädt nicht, was geschrieben wird</translation>
    </message>
    <message>
        <source>The agent has not responded here yet</source>
        <translation>Der Agent hat hier noch nicht geantwortet</translation>
    </message>
    <message>
        <source>The agent itself receives a different text: {detail}</source>
        <translation>Der Agent selbst bekommt einen anderen Text: {detail}</translation>
    </message>
    <message>
        <source>The agent loads the file</source>
        <translation>Der Agent lädt, was geschrieben wird</translation>
    </message>
    <message>
        <source>The agent loads {loaded} of {lines} lines. It does not read the lines below the dashed line.</source>
        <translation>Der Agent lädt {loaded} von {lines} Zeilen. Was unter der gestrichelten Linie steht, liest er nicht.</translation>
    </message>
    <message>
        <source>The agent of this home does not load that file.</source>
        <translation>Der Agent dieses Homes lädt das nicht.</translation>
    </message>
    <message>
        <source>The agent reads only a part of this description.</source>
        <translation>Der Agent liest nur einen Teil dieser Beschreibung.</translation>
    </message>
    <message>
        <source>The agent stops reading at line {line} and adds a warning in its own words.</source>
        <translation>Der Agent hört bei Zeile {line} auf zu lesen und fügt mit eigenen Worten eine Warnung an.</translation>
    </message>
    <message>
        <source>The agent uses this model for this task.</source>
        <translation>Es ist das Modell, das der Agent selbst dafür benutzt.</translation>
    </message>
    <message>
        <source>The agent's background &amp;jobs…</source>
        <translation>Hintergrund&amp;aufgaben des Agenten …</translation>
    </message>
    <message>
        <source>The agent's memory writer wrote nothing</source>
        <translation>Der Notizschreiber des Agenten schrieb nichts</translation>
    </message>
    <message numerus="yes">
        <source>The agent's memory writer wrote nothing in its last %n runs</source>
        <translation><numerusform>Der Notizschreiber des Agenten schrieb in seinem letzten Lauf (%n) nichts</numerusform><numerusform>Der Notizschreiber des Agenten schrieb in seinen letzten %n Läufen nichts</numerusform></translation>
    </message>
    <message>
        <source>The agent's model</source>
        <translation>Das Modell des Agenten</translation>
    </message>
    <message>
        <source>The agent's own configuration turns its memory writer off, and Reverie follows it. Turn it on in that configuration: Reverie never writes that file.</source>
        <translation>Die Konfiguration des Agenten schaltet seinen Notizschreiber aus, und Reverie richtet sich danach. Schalten Sie ihn dort ein: Reverie schreibt diese Datei nie.</translation>
    </message>
    <message>
        <source>The agent's own consolidation is off in its home.</source>
        <translation>Die Konsolidierung des Agenten ist in seinem Home aus.</translation>
    </message>
    <message>
        <source>The agent's own memory writer has no unresolved failure</source>
        <translation>Der Notizschreiber des Agenten hat keinen offenen Fehler</translation>
    </message>
    <message>
        <source>The agent's own memory writer is active here</source>
        <translation>Der Agent schreibt hier selbst</translation>
    </message>
    <message>
        <source>The agent's own sentences around these lines are not shown.</source>
        <translation>Die eigenen Sätze des Agenten um diese Zeilen werden nicht gezeigt.</translation>
    </message>
    <message>
        <source>The amount of free disk space could not be determined.</source>
        <translation>Wie viel frei ist, ließ sich nicht feststellen.</translation>
    </message>
    <message>
        <source>The arguments are not a JSON object.</source>
        <translation>Seine Argumente sind kein JSON-Objekt.</translation>
    </message>
    <message>
        <source>The background services are not running</source>
        <translation>Die Hintergrunddienste laufen nicht</translation>
    </message>
    <message>
        <source>The background services are paused in another window.</source>
        <translation>Die Hintergrunddienste sind in einem anderen Fenster angehalten.</translation>
    </message>
    <message>
        <source>The background services are paused.</source>
        <translation>Die Hintergrunddienste sind angehalten.</translation>
    </message>
    <message>
        <source>The background services are running</source>
        <translation>Die Hintergrunddienste laufen</translation>
    </message>
    <message>
        <source>The background services are starting.</source>
        <translation>Die Hintergrunddienste werden gestartet.</translation>
    </message>
    <message>
        <source>The background services failed and will be restarted. The log has the reason.</source>
        <translation>Die Hintergrunddienste sind ausgefallen und werden neu gestartet. Der Grund steht im Log.</translation>
    </message>
    <message>
        <source>The background services of this home are paused.</source>
        <translation>Die Hintergrunddienste dieses Homes sind angehalten.</translation>
    </message>
    <message>
        <source>The background services of this home are running.</source>
        <translation>Die Hintergrunddienste dieses Homes laufen.</translation>
    </message>
    <message>
        <source>The background services of this home run in another process ({purpose}, process {pid}).</source>
        <translation>Die Hintergrunddienste dieses Homes laufen in einem anderen Prozess ({purpose}, Prozess {pid}).</translation>
    </message>
    <message>
        <source>The background services report a problem</source>
        <translation>Die Hintergrunddienste melden ein Problem</translation>
    </message>
    <message>
        <source>The background services report no problem</source>
        <translation>Die Hintergrunddienste melden kein Problem</translation>
    </message>
    <message>
        <source>The call of {tool} {where} was not valid JSON: {quote}</source>
        <translation>Der Aufruf von {tool} {where} war kein gültiges JSON: {quote}</translation>
    </message>
    <message>
        <source>The clock is right</source>
        <translation>Die Uhr geht richtig</translation>
    </message>
    <message>
        <source>The clock is slow</source>
        <translation>Die Uhr geht nach</translation>
    </message>
    <message>
        <source>The consolidation records are damaged</source>
        <translation>Die Aufzeichnungen der Konsolidierungen sind beschädigt</translation>
    </message>
    <message>
        <source>The context must grow by at least this much between two updates.</source>
        <translation>Eine Aktualisierung braucht mindestens so viel neuen Kontext.</translation>
    </message>
    <message>
        <source>The conversation's model</source>
        <translation>Das Modell der Unterhaltung</translation>
    </message>
    <message>
        <source>The daily budget has room left</source>
        <translation>Das Tagesbudget ist nicht aufgebraucht</translation>
    </message>
    <message>
        <source>The daily budget is used up</source>
        <translation>Das Tagesbudget ist aufgebraucht</translation>
    </message>
    <message>
        <source>The directory of its project, {path}, does not exist.</source>
        <translation>Das Verzeichnis seines Projekts, {path}, ist jetzt nicht da.</translation>
    </message>
    <message>
        <source>The environment variable that contains the key. Leave empty to use the default variable.</source>
        <translation>Die Umgebungsvariable mit dem Schlüssel. Leer: die übliche.</translation>
    </message>
    <message>
        <source>The fact was moved under a heading that changes its meaning (was: {before})</source>
        <translation>Die Angabe steht jetzt unter einer Überschrift, die ihren Sinn ändert (vorher: {before})</translation>
    </message>
    <message>
        <source>The file on disk cannot be overwritten.</source>
        <translation>Die Datei auf der Platte kann nicht überschrieben werden.</translation>
    </message>
    <message>
        <source>The file {file} in this home mentions this project.</source>
        <translation>Die Datei {file} in diesem Home nennt dieses Projekt.</translation>
    </message>
    <message>
        <source>The folder already contains files or folders with these names:</source>
        <translation>Dieser Ordner enthält schon Dateien oder Ordner mit diesen Namen:</translation>
    </message>
    <message>
        <source>The font size of everything in the window.</source>
        <translation>Von allem im Fenster.</translation>
    </message>
    <message>
        <source>The font size of the editor, relative to the rest of the window.</source>
        <translation>Verglichen mit dem übrigen Fenster.</translation>
    </message>
    <message numerus="yes">
        <source>The import proposes %n changes.</source>
        <translation><numerusform>Der Import schlägt %n Änderung vor.</numerusform><numerusform>Der Import schlägt %n Änderungen vor.</numerusform></translation>
    </message>
    <message>
        <source>The interval is not valid</source>
        <translation>Der Abstand ist ungültig</translation>
    </message>
    <message>
        <source>The interval is valid</source>
        <translation>Der Abstand ist gültig</translation>
    </message>
    <message>
        <source>The kept memory already had this line.</source>
        <translation>Die Notiz, die bleibt, hatte diese Zeile schon.</translation>
    </message>
    <message>
        <source>The kept memory already had {count} of {all} lines.</source>
        <translation>Die Notiz, die bleibt, hatte schon {count} von {all} Zeilen.</translation>
    </message>
    <message numerus="yes">
        <source>The last %n responses were cut off or failed. Such responses do not start the writer.</source>
        <translation><numerusform>Die letzte Antwort (%n) brach ab oder endete mit einem Fehler. Solche Antworten starten den Notizschreiber nicht.</numerusform><numerusform>Die letzten %n Antworten wurden abgeschnitten oder schlugen fehl. Solche Antworten starten den Notizschreiber nicht.</numerusform></translation>
    </message>
    <message>
        <source>The last response is complete</source>
        <translation>Die letzte Antwort ist vollständig</translation>
    </message>
    <message>
        <source>The last response is not complete</source>
        <translation>Die letzte Antwort ist unvollständig</translation>
    </message>
    <message>
        <source>The last run</source>
        <translation>Der letzte Lauf</translation>
    </message>
    <message>
        <source>The last run began {age} and ended without changing the memory file: there was nothing to remember, or the model did not call the tool or had no access.</source>
        <translation>Er begann {age} und endete, und die Notizdatei änderte sich nicht: Entweder gab es nichts zu merken, oder das Modell rief das Werkzeug nicht auf oder hatte keinen Zugriff.</translation>
    </message>
    <message>
        <source>The last run began {age} and found nothing new ({counted}).</source>
        <translation>Der letzte Lauf begann {age} und fand nichts Neues ({counted}).</translation>
    </message>
    <message>
        <source>The last run began {age} and wrote ({counted}).</source>
        <translation>Der letzte Lauf begann {age} und schrieb ({counted}).</translation>
    </message>
    <message>
        <source>The last run crashed</source>
        <translation>Der letzte Lauf ist abgestürzt</translation>
    </message>
    <message>
        <source>The last run with a model used {last}. Total this month: {month}.</source>
        <translation>Letzter Lauf mit einem Modell: {last}. Insgesamt in diesem Monat: {month}.</translation>
    </message>
    <message>
        <source>The last run wrote nothing</source>
        <translation>Der letzte Lauf schrieb nichts</translation>
    </message>
    <message>
        <source>The last turn is incomplete ({size}, last grew {age}).</source>
        <translation>An ihrem Ende ist kein ganzer Zug ({size}, zuletzt gewachsen {age}).</translation>
    </message>
    <message>
        <source>The log records only writes and failures.</source>
        <translation>Das Protokoll nennt nur, was geschrieben wurde und was misslang.</translation>
    </message>
    <message>
        <source>The log reports: {text}</source>
        <translation>Das Protokoll sagt: {text}</translation>
    </message>
    <message>
        <source>The maximum number of background runs in any 24 hours. 0 allows none.</source>
        <translation>Hintergrundläufe in jeweils 24 Stunden; 0 erlaubt keinen.</translation>
    </message>
    <message>
        <source>The maximum number of rollouts in one extraction. The next extraction processes the rest.</source>
        <translation>Rollouts je Extraktion; die nächste nimmt die übrigen.</translation>
    </message>
    <message>
        <source>The meaning was reversed (was: {before})</source>
        <translation>Der Sinn wurde umgekehrt (vorher: {before})</translation>
    </message>
    <message>
        <source>The memory file can be written</source>
        <translation>Die Notizdatei ist beschreibbar</translation>
    </message>
    <message>
        <source>The memory file cannot be written</source>
        <translation>Die Notizdatei ist nicht beschreibbar</translation>
    </message>
    <message>
        <source>The memory was written in attempt {attempt}.</source>
        <translation>Die Notiz wurde in Versuch {attempt} geschrieben.</translation>
    </message>
    <message>
        <source>The memory was written.</source>
        <translation>Die Notiz wurde geschrieben.</translation>
    </message>
    <message>
        <source>The memory writer is off</source>
        <translation>Der Notizschreiber ist aus</translation>
    </message>
    <message>
        <source>The memory writer is on</source>
        <translation>Der Notizschreiber ist an</translation>
    </message>
    <message>
        <source>The memory writer is ready to run</source>
        <translation>Der Notizschreiber kann arbeiten</translation>
    </message>
    <message>
        <source>The memory writer is running</source>
        <translation>Der Notizschreiber läuft</translation>
    </message>
    <message>
        <source>The memory writer is turned on in the settings.</source>
        <translation>Er ist in den Einstellungen eingeschaltet.</translation>
    </message>
    <message>
        <source>The memory writer updates the memory of the project during conversations.</source>
        <translation>Der Notizschreiber aktualisiert während der Unterhaltung die Notiz des Projekts.</translation>
    </message>
    <message>
        <source>The memory writer uses rules, so there is no model to test.</source>
        <translation>Ohne Modell gibt es keines zu testen.</translation>
    </message>
    <message>
        <source>The memory writer's runs have a problem</source>
        <translation>Die Läufe des Notizschreibers sind nicht in Ordnung</translation>
    </message>
    <message>
        <source>The memory writer's runs have no problems</source>
        <translation>Die Läufe des Notizschreibers sind in Ordnung</translation>
    </message>
    <message>
        <source>The model called no tool that writes.</source>
        <translation>Es rief nichts auf, das schreibt.</translation>
    </message>
    <message>
        <source>The model can call tools</source>
        <translation>Das Modell kann Werkzeuge aufrufen</translation>
    </message>
    <message>
        <source>The model cannot be used</source>
        <translation>Das Modell ist nicht nutzbar</translation>
    </message>
    <message>
        <source>The model cannot call tools</source>
        <translation>Das Modell kann keine Werkzeuge aufrufen</translation>
    </message>
    <message>
        <source>The model cannot call tools: {quote}</source>
        <translation>Das Modell kann keine Werkzeuge aufrufen: {quote}</translation>
    </message>
    <message numerus="yes">
        <source>The model did not finish within %n steps.</source>
        <translation><numerusform>Das Modell wurde in %n Schritt nicht fertig.</numerusform><numerusform>Das Modell wurde in %n Schritten nicht fertig.</numerusform></translation>
    </message>
    <message>
        <source>The model does not respond</source>
        <translation>Das Modell antwortet nicht</translation>
    </message>
    <message>
        <source>The model ended without calling memory_write.</source>
        <translation>Das Modell endete, ohne memory_write aufzurufen.</translation>
    </message>
    <message>
        <source>The model for consolidations cannot be used</source>
        <translation>Das Modell für Konsolidierungen ist nicht nutzbar</translation>
    </message>
    <message>
        <source>The model is thinking…</source>
        <translation>Das Modell denkt nach…</translation>
    </message>
    <message>
        <source>The model only read the memory.</source>
        <translation>Es las die Notiz nur.</translation>
    </message>
    <message>
        <source>The model reported that there is nothing new to remember.</source>
        <translation>Das Modell sagte, es gebe nichts Neues zu merken.</translation>
    </message>
    <message>
        <source>The model responded in text instead of calling memory_write.</source>
        <translation>Das Modell antwortete mit Text, statt memory_write aufzurufen.</translation>
    </message>
    <message>
        <source>The model responds</source>
        <translation>Das Modell antwortet</translation>
    </message>
    <message>
        <source>The model service failed in attempt {attempt}: {quote}</source>
        <translation>Der Modelldienst versagte in Versuch {attempt}: {quote}</translation>
    </message>
    <message>
        <source>The model suggested what to remember.</source>
        <translation>Das Modell schlug vor, was zu merken ist.</translation>
    </message>
    <message>
        <source>The model used {tokens} ({cost}).</source>
        <translation>Das Modell verbrauchte {tokens} ({cost}).</translation>
    </message>
    <message>
        <source>The model was not checked: models are unknown here.</source>
        <translation>Es wurde hier nicht geprüft: Hier sind keine Modelle bekannt.</translation>
    </message>
    <message>
        <source>The model was not tested</source>
        <translation>Das Modell wurde nicht getestet</translation>
    </message>
    <message>
        <source>The model wrote its call as text, so it cannot call tools as required.</source>
        <translation>Das Modell schrieb seinen Aufruf als Text: So kann es keine Werkzeuge aufrufen.</translation>
    </message>
    <message>
        <source>The model wrote more than a run may write.</source>
        <translation>Das Modell schrieb mehr, als ein Lauf erlaubt.</translation>
    </message>
    <message>
        <source>The model's call was not valid JSON: {quote}</source>
        <translation>Der Aufruf des Modells war kein gültiges JSON: {quote}</translation>
    </message>
    <message>
        <source>The model's response was cut off at the output limit.</source>
        <translation>Seine Antwort wurde an der Ausgabegrenze abgeschnitten.</translation>
    </message>
    <message>
        <source>The name was changed (was: {before})</source>
        <translation>Der Name wurde geändert (vorher: {before})</translation>
    </message>
    <message>
        <source>The newest sessions load no index; the agent chooses memories for each prompt.</source>
        <translation>In den neuesten Sitzungen wird kein Index geladen; der Agent wählt Erinnerungen für jede Eingabe aus.</translation>
    </message>
    <message numerus="yes">
        <source>The next attempt will get %n lessons</source>
        <translation><numerusform>Der nächste Versuch bekommt %n Lehre</numerusform><numerusform>Der nächste Versuch bekommt %n Lehren</numerusform></translation>
    </message>
    <message>
        <source>The next attempt will get no lessons</source>
        <translation>Der nächste Versuch bekommt keine Lehren</translation>
    </message>
    <message>
        <source>The next one in the background comes after 6 hours.</source>
        <translation>Die nächste im Hintergrund kommt nach 6 Stunden.</translation>
    </message>
    <message>
        <source>The note cannot be added, because a file and a folder would have the same path.</source>
        <translation>Die Notiz kann nicht hinzugefügt werden, weil eine Datei und ein Ordner denselben Pfad hätten.</translation>
    </message>
    <message>
        <source>The note cannot be read: {why}</source>
        <translation>Kann nicht gelesen werden: {why}</translation>
    </message>
    <message>
        <source>The note has not been saved yet, so Codex will not see it.</source>
        <translation>Sie ist noch nicht geschrieben. Codex bekommt sie nicht zu sehen.</translation>
    </message>
    <message>
        <source>The note is copied to {path} without changes.</source>
        <translation>Daraus wird {path}, Byte für Byte.</translation>
    </message>
    <message>
        <source>The note is larger than the agent's file size limit. It stays where it is.</source>
        <translation>Die Notiz ist größer als die Grenze des Agenten für eine Datei. Sie bleibt, wo sie ist.</translation>
    </message>
    <message>
        <source>The note remains pinned.</source>
        <translation>Bleibt angeheftet.</translation>
    </message>
    <message>
        <source>The number of completed assistant turns between two runs, unless the agent's own settings override it.</source>
        <translation>Fertige Antworten des Assistenten zwischen zwei Läufen, wenn der Agent nichts anderes vorgibt.</translation>
    </message>
    <message>
        <source>The number of rollouts that are read at the same time.</source>
        <translation>Rollouts, die gleichzeitig gelesen werden.</translation>
    </message>
    <message>
        <source>The number was changed (was: {before})</source>
        <translation>Die Zahl wurde geändert (vorher: {before})</translation>
    </message>
    <message>
        <source>The open memory has no unsaved changes.</source>
        <translation>Die offene Notiz hat keine ungespeicherten Änderungen.</translation>
    </message>
    <message>
        <source>The open memory is read-only.</source>
        <translation>Die offene Notiz ist schreibgeschützt.</translation>
    </message>
    <message>
        <source>The operating system reports: {error}.</source>
        <translation>Das System sagt: {error}.</translation>
    </message>
    <message>
        <source>The orphaned notes were not changed.</source>
        <translation>Die verwaisten Notizen wurden nicht geändert.</translation>
    </message>
    <message>
        <source>The outcome is {outcome}.</source>
        <translation>Das Ergebnis ist {outcome}.</translation>
    </message>
    <message>
        <source>The project has the same name, {value}.</source>
        <translation>Hat denselben Namen, {value}.</translation>
    </message>
    <message>
        <source>The project memory system-1.md</source>
        <translation>Die Projektnotiz system-1.md</translation>
    </message>
    <message>
        <source>The project's memory file</source>
        <translation>Die Notizdatei des Projekts</translation>
    </message>
    <message>
        <source>The recording of failures is turned off in the agent's settings.</source>
        <translation>Das Aufzeichnen von Fehlschlägen ist in den Einstellungen des Agenten ausgeschaltet.</translation>
    </message>
    <message>
        <source>The rules found nothing new to remember.</source>
        <translation>Die Regeln fanden nichts Neues zu merken.</translation>
    </message>
    <message>
        <source>The run before it, {age}: {text}</source>
        <translation>Der davor, {age}: {text}</translation>
    </message>
    <message>
        <source>The run ended without a change.</source>
        <translation>Der Lauf endete ohne Änderung.</translation>
    </message>
    <message>
        <source>The run had already written to the memory.</source>
        <translation>Er hatte vorher geschrieben.</translation>
    </message>
    <message>
        <source>The run stops before its next change. You can review and undo its changes in the Changes tab.</source>
        <translation>Er hält vor seiner nächsten Änderung an. Was er getan hat, steht unter Änderungen und lässt sich dort rückgängig machen.</translation>
    </message>
    <message>
        <source>The run succeeded.</source>
        <translation>Es gelang.</translation>
    </message>
    <message>
        <source>The run timed out after {seconds} s, {where}.</source>
        <translation>Die Zeit des Laufs war nach {seconds} s um, {where}.</translation>
    </message>
    <message>
        <source>The run timed out, {where}.</source>
        <translation>Die Zeit des Laufs war um, {where}.</translation>
    </message>
    <message>
        <source>The run was cancelled, {where}.</source>
        <translation>Der Lauf wurde abgebrochen, {where}.</translation>
    </message>
    <message>
        <source>The session is running and keeps what it loaded. A change reaches the next session.</source>
        <translation>Die Sitzung läuft und behält, was sie geladen hat. Eine Änderung erreicht die nächste Sitzung.</translation>
    </message>
    <message>
        <source>The settings choose file system events, or scanning where there are none.</source>
        <translation>Laut Einstellungen: über Ereignisse, und wo es keine gibt, durch Suchen.</translation>
    </message>
    <message>
        <source>The settings choose scanning.</source>
        <translation>Laut Einstellungen: durch Suchen.</translation>
    </message>
    <message>
        <source>The statement is less precise now (was: {before})</source>
        <translation>Die Aussage ist jetzt ungenauer (vorher: {before})</translation>
    </message>
    <message>
        <source>The statement is more certain now (was: {before})</source>
        <translation>Die Aussage ist jetzt bestimmter (vorher: {before})</translation>
    </message>
    <message>
        <source>The suggestion was accepted.</source>
        <translation>Es wurde angenommen.</translation>
    </message>
    <message>
        <source>The test could not run, because an earlier step failed.</source>
        <translation>Es ließ sich nicht testen, weil ein früherer Schritt scheiterte.</translation>
    </message>
    <message>
        <source>The test sends a real request to the model, so it runs only when you ask for it.</source>
        <translation>Ein Test fragt das Modell wirklich, also nur auf Wunsch.</translation>
    </message>
    <message>
        <source>The theme of the window: light, dark, or the same as the system.</source>
        <translation>Das Farbschema (Theme) des Fensters: hell, dunkel oder wie das System.</translation>
    </message>
    <message>
        <source>The time limit for each rollout and for each directory.</source>
        <translation>Für jeden Rollout und jedes Verzeichnis.</translation>
    </message>
    <message>
        <source>The trace contains no attempt.</source>
        <translation>Es gibt keinen Versuch.</translation>
    </message>
    <message>
        <source>The trace does not show what happened.</source>
        <translation>Der Trace sagt nicht, was geschah.</translation>
    </message>
    <message>
        <source>The trace has no list of attempts.</source>
        <translation>Er enthält keine Liste von Versuchen.</translation>
    </message>
    <message>
        <source>The trace of the run reports: {text}</source>
        <translation>Sein Trace sagt: {text}</translation>
    </message>
    <message>
        <source>The transcript cannot be read</source>
        <translation>Die Mitschrift ist nicht lesbar</translation>
    </message>
    <message>
        <source>The transcript is growing</source>
        <translation>Die Mitschrift wächst</translation>
    </message>
    <message>
        <source>The turn used this model.</source>
        <translation>Es ist das Modell des Zugs.</translation>
    </message>
    <message>
        <source>The values of two facts were combined (was: {before})</source>
        <translation>Die Werte zweier Angaben wurden vermischt (vorher: {before})</translation>
    </message>
    <message>
        <source>The version was changed (was: {before})</source>
        <translation>Die Version wurde geändert (vorher: {before})</translation>
    </message>
    <message>
        <source>The workspace has its own memory writer</source>
        <translation>Der Workspace hat einen eigenen Schreiber</translation>
    </message>
    <message>
        <source>The workspace is archived, so it gets no new turns.</source>
        <translation>Der Workspace ist archiviert; in ihm endet kein Zug mehr.</translation>
    </message>
    <message>
        <source>The workspace is listed, and it is not a task of another workspace.</source>
        <translation>Er ist aufgeführt und keine Aufgabe eines anderen Workspace.</translation>
    </message>
    <message>
        <source>The workspace was consolidated</source>
        <translation>Der Workspace wurde konsolidiert</translation>
    </message>
    <message>
        <source>The writer is off until you turn it on.</source>
        <translation>Er ist aus, bis Sie ihn einschalten.</translation>
    </message>
    <message>
        <source>The writer is off until you turn it on. The agent's own tools write memories here.</source>
        <translation>Er ist aus, bis Sie ihn einschalten. Dieser Agent schreibt Notizen mit eigenen Werkzeugen.</translation>
    </message>
    <message>
        <source>The writer missed the last turns</source>
        <translation>Die letzten Züge wurden nicht gezählt</translation>
    </message>
    <message numerus="yes">
        <source>The writer runs after every %n turns</source>
        <translation><numerusform>Er läuft nach je %n Zug</numerusform><numerusform>Er läuft nach je %n Zügen</numerusform></translation>
    </message>
    <message>
        <source>The writer treats this as 0 turns.</source>
        <translation>Sie zählt als kein Zug.</translation>
    </message>
    <message>
        <source>The writer was off, not running, or every response was cut off.</source>
        <translation>Der Schreiber war aus, nichts führte ihn aus, oder jede Antwort brach ab.</translation>
    </message>
    <message>
        <source>The writer writes a project memory.</source>
        <translation>Der Schreiber schreibt eine Notiz des Projekts.</translation>
    </message>
    <message>
        <source>The writer writes one file per project.</source>
        <translation>Der Schreiber schreibt eine Datei je Projekt.</translation>
    </message>
    <message>
        <source>The writer's state cannot be saved</source>
        <translation>Der Stand des Schreibers lässt sich nicht speichern</translation>
    </message>
    <message>
        <source>The writer's state file is damaged</source>
        <translation>Die Standdatei des Schreibers ist beschädigt</translation>
    </message>
    <message numerus="yes">
        <source>There are %n memories but no {index}, so Claude Code loads none of them.</source>
        <translation><numerusform>Es gibt %n Notiz und kein {index}, also wird sie nicht geladen.</numerusform><numerusform>Es gibt %n Notizen und kein {index}, also wird keine geladen.</numerusform></translation>
    </message>
    <message>
        <source>There are no anti-patterns. The agent creates them from repeated failures.</source>
        <translation>Es gibt keine Anti-Patterns: Der Agent macht sie aus Fehlschlägen, die sich wiederholen.</translation>
    </message>
    <message>
        <source>There are no memories yet</source>
        <translation>Es gibt noch keine Notizen</translation>
    </message>
    <message>
        <source>There are no such sessions.</source>
        <translation>Es gibt keine.</translation>
    </message>
    <message>
        <source>There are no traces: no run has failed here while traces were on.</source>
        <translation>Es gibt keinen: Hier scheiterte kein Lauf, solange Traces behalten wurden.</translation>
    </message>
    <message>
        <source>There are no unsaved changes.</source>
        <translation>Nichts ist ungespeichert.</translation>
    </message>
    <message>
        <source>There is enough disk space</source>
        <translation>Es ist genug Speicherplatz da</translation>
    </message>
    <message>
        <source>There is no conflict to resolve.</source>
        <translation>Es ist kein Konflikt zu entscheiden.</translation>
    </message>
    <message>
        <source>There is no file at this path, but something else.</source>
        <translation>Dort liegt etwas, das keine Datei ist.</translation>
    </message>
    <message>
        <source>There is no memory file for this workspace.</source>
        <translation>Für diesen Workspace gibt es keine.</translation>
    </message>
    <message>
        <source>There is no state yet; the next completed turn creates it.</source>
        <translation>Es gibt noch keinen Stand; er kommt mit dem nächsten vollständigen Zug.</translation>
    </message>
    <message>
        <source>There is no summary in memories/, so Codex loads no memory at all.</source>
        <translation>In memories/ ist keine Zusammenfassung, also lädt Codex gar keine Notizen.</translation>
    </message>
    <message>
        <source>There is nothing to redo.</source>
        <translation>Es gibt nichts zu wiederholen.</translation>
    </message>
    <message>
        <source>There is nothing to undo.</source>
        <translation>Es gibt nichts zurückzunehmen.</translation>
    </message>
    <message>
        <source>There is something at {path} that is not a file.</source>
        <translation>Unter {path} liegt etwas, das keine Datei ist.</translation>
    </message>
    <message>
        <source>These notes belong to {name}. {reasons}</source>
        <translation>Diese Notizen gehören zu {name}. {reasons}</translation>
    </message>
    <message>
        <source>They are watching {transcripts}.</source>
        <translation>Sie beobachten {transcripts}.</translation>
    </message>
    <message>
        <source>This agent has no memory writer</source>
        <translation>Dieser Agent hat keinen Notizschreiber</translation>
    </message>
    <message>
        <source>This agent has no memory writer, so none can fail. Its memories come from the agent itself, from consolidations, extraction and session notes.</source>
        <translation>Es gibt also keinen, der nicht läuft. Notizen kommen hier vom Agenten selbst, aus Konsolidierungen, Extraktion und Sitzungsnotizen.</translation>
    </message>
    <message>
        <source>This agent keeps no transcript that Reverie could follow.</source>
        <translation>Dieser Agent führt keine Mitschrift, der man folgen könnte.</translation>
    </message>
    <message>
        <source>This anti-pattern is in an older file that the agent no longer updates.</source>
        <translation>Dieses Anti-Pattern steht in einer älteren Datei, die der Agent nicht mehr aktualisiert.</translation>
    </message>
    <message numerus="yes">
        <source>This changes %n lines:</source>
        <translation><numerusform>%n Zeile ändert sich:</numerusform><numerusform>%n Zeilen ändern sich:</numerusform></translation>
    </message>
    <message>
        <source>This home does not list a project with this name.</source>
        <translation>Kein Projekt, das dieses Home aufführt, hat diesen Namen.</translation>
    </message>
    <message>
        <source>This home does not list a workspace with this ID.</source>
        <translation>Dieses Home führt keinen Workspace dieser Kennung auf.</translation>
    </message>
    <message>
        <source>This home does not list the workspace, or the list cannot be read.</source>
        <translation>Dieses Home führt den Workspace nicht auf, oder seine Liste ist nicht lesbar.</translation>
    </message>
    <message>
        <source>This home has no background services running.</source>
        <translation>Hier laufen keine Hintergrunddienste.</translation>
    </message>
    <message>
        <source>This home has no place to store the state of a memory writer.</source>
        <translation>Dieses Home hat keinen Platz für den Stand eines Notizschreibers.</translation>
    </message>
    <message>
        <source>This home no longer lists the project {path}.</source>
        <translation>Dieses Home führt das Projekt {path} nicht mehr auf.</translation>
    </message>
    <message>
        <source>This home no longer lists this workspace, which belonged to the project {path}.</source>
        <translation>Dieses Home führt den Workspace nicht mehr auf; er arbeitete an {path}.</translation>
    </message>
    <message>
        <source>This is a task of workspace {parent}. Memories are written for that workspace only. Select it.</source>
        <translation>Es ist eine Aufgabe des Workspace {parent}; Notizen werden nur für diesen geschrieben. Sehen Sie dort nach.</translation>
    </message>
    <message>
        <source>This location comes from the project's own settings.</source>
        <translation>Die Einstellungen des Projekts selbst legen das Gedächtnis hierher.</translation>
    </message>
    <message>
        <source>This project has no memory on disk.</source>
        <translation>Von diesem Projekt liegen keine Notizen auf der Platte.</translation>
    </message>
    <message>
        <source>This regular expression is incomplete or invalid: {why} (at character {at}).</source>
        <translation>Dieser Ausdruck ist unvollständig oder ungültig: {why} (bei Zeichen {at}).</translation>
    </message>
    <message numerus="yes">
        <source>This saves %n tokens per session.</source>
        <translation><numerusform>Das spart %n Token je Sitzung.</numerusform><numerusform>Das spart %n Tokens je Sitzung.</numerusform></translation>
    </message>
    <message>
        <source>This window no longer watches the home for changes. Open the home again.</source>
        <translation>Die Überwachung dieses Fensters steht. Öffnen Sie das Home noch einmal.</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Timed out</source>
        <translation>Zeit abgelaufen</translation>
    </message>
    <message>
        <source>Title</source>
        <translation>Titel</translation>
    </message>
    <message>
        <source>To use version 2, remove memories/ or set [memories] version = "v2" in config.toml.</source>
        <translation>Um Version 2 zu benutzen, entfernen Sie memories/ oder setzen Sie [memories] version = "v2" in config.toml.</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Tokens</translation>
    </message>
    <message>
        <source>Tool</source>
        <translation>Werkzeug</translation>
    </message>
    <message>
        <source>Tool calls</source>
        <translation>Werkzeugaufrufe</translation>
    </message>
    <message>
        <source>Tool calls were not tested</source>
        <translation>Werkzeugaufrufe wurden nicht getestet</translation>
    </message>
    <message>
        <source>Tool failed</source>
        <translation>Werkzeug gescheitert</translation>
    </message>
    <message>
        <source>Traces are off, so there is no record of why a run failed.</source>
        <translation>Traces sind aus; warum ein Lauf scheiterte, wird also nicht behalten.</translation>
    </message>
    <message>
        <source>Try the &amp;demo</source>
        <translation>&amp;Demo ausprobieren</translation>
    </message>
    <message>
        <source>Turn off one of the two memory writers.</source>
        <translation>Lassen Sie es einen der beiden tun.</translation>
    </message>
    <message>
        <source>Turn on</source>
        <translation>Einschalten</translation>
    </message>
    <message>
        <source>Turn on debug logging</source>
        <translation>Ausführlich protokollieren</translation>
    </message>
    <message>
        <source>Turn {id}</source>
        <translation>Zug {id}</translation>
    </message>
    <message>
        <source>Turned off in [memories]: {names}.</source>
        <translation>Ausgeschaltet in [memories]: {names}.</translation>
    </message>
    <message numerus="yes">
        <source>Undid the changes to %n files.</source>
        <translation><numerusform>%n Datei wurde zurückgenommen.</numerusform><numerusform>%n Dateien wurden zurückgenommen.</numerusform></translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Undo the last deletion, move, rename, pin, merge, restore or change of a record</source>
        <translation>Letztes Löschen, Verschieben, Umbenennen, Anheften, Zusammenführen, Wiederherstellen oder Ändern einer Aufzeichnung zurücknehmen</translation>
    </message>
    <message>
        <source>Undone</source>
        <translation>Rückgängig gemacht</translation>
    </message>
    <message>
        <source>Undos</source>
        <translation>Rücknahmen</translation>
    </message>
    <message>
        <source>Unfinished merge</source>
        <translation>Unfertige Zusammenführung</translation>
    </message>
    <message>
        <source>Unsaved changes</source>
        <translation>Ungespeicherte Änderungen</translation>
    </message>
    <message>
        <source>Update outdated paths, versions and commands in this line or, if it has none, in the whole memory</source>
        <translation>Den verschobenen Pfad, die neue Version oder den neuen Befehl in dieser Zeile ersetzen, sonst in der ganzen Notiz</translation>
    </message>
    <message>
        <source>Update session &amp;notes</source>
        <translation>Sitzungs&amp;notizen aktualisieren</translation>
    </message>
    <message>
        <source>Update the selected session's notes now, even if the thresholds for an update are not reached</source>
        <translation>Die Notizen der gewählten Sitzung aktualisieren, was auch immer ihre Schwellen sagen</translation>
    </message>
    <message>
        <source>Use &amp;both</source>
        <translation>&amp;Beide nehmen</translation>
    </message>
    <message>
        <source>Use &amp;theirs</source>
        <translation>&amp;Andere nehmen</translation>
    </message>
    <message>
        <source>Use the agent's own order</source>
        <translation>Die Reihenfolge des Agenten</translation>
    </message>
    <message>
        <source>Usual si&amp;ze</source>
        <translation>Übliche &amp;Größe</translation>
    </message>
    <message>
        <source>Verdict</source>
        <translation>Befund</translation>
    </message>
    <message>
        <source>Warnings</source>
        <translation>Warnungen</translation>
    </message>
    <message>
        <source>Warnings for this memory</source>
        <translation>Hinweise zu dieser Notiz</translation>
    </message>
    <message>
        <source>Watch by events</source>
        <translation>Über Ereignisse überwachen</translation>
    </message>
    <message>
        <source>When the traces take more disk space, Reverie deletes the oldest ones that it wrote itself.</source>
        <translation>Brauchen Traces mehr Platz, werden die ältesten von Reverie gelöscht.</translation>
    </message>
    <message>
        <source>When to update</source>
        <translation>Wann aktualisiert wird</translation>
    </message>
    <message>
        <source>When: {when}</source>
        <translation>Wann: {when}</translation>
    </message>
    <message>
        <source>Why</source>
        <translation>Warum</translation>
    </message>
    <message>
        <source>Will be sent</source>
        <translation>Wird gesendet</translation>
    </message>
    <message>
        <source>Without a model, nothing is sent. With a model, your memories are sent to its provider.</source>
        <translation>Ohne Modell wird nichts gesendet. Ein Modell bekommt Notizen: sie gehen an seinen Anbieter.</translation>
    </message>
    <message>
        <source>Workspace</source>
        <translation>Workspace</translation>
    </message>
    <message>
        <source>Wr&amp;ite to</source>
        <translation>Schreiben &amp;in</translation>
    </message>
    <message>
        <source>Wrap lines at the edge of the editor</source>
        <translation>Zeilen am Rand umbrechen</translation>
    </message>
    <message>
        <source>Wrap long lines at the edge of the editor.</source>
        <translation>Lange Zeilen am Rand des Editors umbrechen.</translation>
    </message>
    <message>
        <source>Write a note for Codex to add to its memory</source>
        <translation>Eine Notiz schreiben, die Codex in sein Gedächtnis aufnimmt</translation>
    </message>
    <message>
        <source>Write anyway</source>
        <translation>Trotzdem schreiben</translation>
    </message>
    <message>
        <source>Write to a project memory</source>
        <translation>In eine Notiz des Projekts schreiben</translation>
    </message>
    <message>
        <source>Write to memories with an unknown layout?</source>
        <translation>In einen unbekannten Aufbau schreiben?</translation>
    </message>
    <message>
        <source>Write to the agent's own file for the project, or to a memory in the project scope.</source>
        <translation>Die eigene Datei des Agenten für das Projekt oder eine Notiz im Projektbereich.</translation>
    </message>
    <message>
        <source>Write to the project's single file</source>
        <translation>In die eine Datei des Projekts schreiben</translation>
    </message>
    <message>
        <source>Write without a model</source>
        <translation>Ohne Modell schreiben</translation>
    </message>
    <message>
        <source>Writing the changes…</source>
        <translation>Die Änderungen werden geschrieben…</translation>
    </message>
    <message>
        <source>Wrote</source>
        <translation>Geschrieben</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Gestern</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Selbst</translation>
    </message>
    <message numerus="yes">
        <source>You and another program changed the same lines in %n places.</source>
        <translation><numerusform>Sie und ein anderes Programm haben an %n Stelle dieselben Zeilen geändert.</numerusform><numerusform>Sie und ein anderes Programm haben an %n Stellen dieselben Zeilen geändert.</numerusform></translation>
    </message>
    <message>
        <source>You and another program changed this file.</source>
        <translation>Sie und ein anderes Programm haben diese Datei geändert.</translation>
    </message>
    <message>
        <source>You asked for this engine.</source>
        <translation>Es wurde ausdrücklich gewählt.</translation>
    </message>
    <message>
        <source>You chose to write anyway.</source>
        <translation>Sie haben gewählt, trotzdem zu schreiben.</translation>
    </message>
    <message>
        <source>You chose {stays} over {goes}.</source>
        <translation>Sie haben {stays} statt {goes} gewählt.</translation>
    </message>
    <message>
        <source>You have not approved sending memories to {model} yet.</source>
        <translation>Sie haben noch nicht zugestimmt, Notizen an {model} zu senden.</translation>
    </message>
    <message>
        <source>Zoom &amp;in</source>
        <translation>&amp;Vergrößern</translation>
    </message>
    <message>
        <source>Zoom &amp;out</source>
        <translation>Ver&amp;kleinern</translation>
    </message>
    <message>
        <source>[features] memories is not true in config.toml, so Codex neither creates nor loads memories.</source>
        <translation>[features] memories ist in config.toml nicht true, also legt Codex keine Notizen an und lädt keine.</translation>
    </message>
    <message>
        <source>[features] memories is true in config.toml.</source>
        <translation>[features] memories ist in config.toml true.</translation>
    </message>
    <message>
        <source>a CLAUDE.md is loaded instead</source>
        <translation>stattdessen wird eine CLAUDE.md geladen</translation>
    </message>
    <message>
        <source>a new session would load the same text</source>
        <translation>eine neue Sitzung würde dasselbe laden</translation>
    </message>
    <message>
        <source>a space ends the path; write “\ ” instead</source>
        <translation>ein Leerzeichen beendet den Pfad; an seine Stelle gehört „\ “</translation>
    </message>
    <message>
        <source>according to the repository, {token} is {to} now</source>
        <translation>laut Repository ist {token} jetzt {to}</translation>
    </message>
    <message>
        <source>after a turn</source>
        <translation>nach einer Antwort</translation>
    </message>
    <message>
        <source>after attempt {attempt}</source>
        <translation>nach Versuch {attempt}</translation>
    </message>
    <message>
        <source>after the last loaded line</source>
        <translation>hinter der letzten geladenen Zeile</translation>
    </message>
    <message>
        <source>all changes were rejected in review</source>
        <translation>alles wurde bei der Prüfung abgelehnt</translation>
    </message>
    <message>
        <source>always loaded</source>
        <translation>immer geladen</translation>
    </message>
    <message>
        <source>an anti-pattern</source>
        <translation>ein Anti-Pattern</translation>
    </message>
    <message>
        <source>an unknown time</source>
        <translation>eine unbekannte Zeit</translation>
    </message>
    <message>
        <source>and at &amp;most</source>
        <translation>und hö&amp;chstens</translation>
    </message>
    <message>
        <source>another checkout</source>
        <translation>anderer Checkout</translation>
    </message>
    <message>
        <source>another program</source>
        <translation>ein anderes Programm</translation>
    </message>
    <message>
        <source>anti-pattern without a description</source>
        <translation>ein Anti-Pattern ohne Worte</translation>
    </message>
    <message>
        <source>applied</source>
        <translation>angewendet</translation>
    </message>
    <message>
        <source>applied {done} of {count} reviewed changes</source>
        <translation>{done} von {count} geprüften Änderungen übernommen</translation>
    </message>
    <message>
        <source>archive</source>
        <translation>Archivierung</translation>
    </message>
    <message>
        <source>archived</source>
        <translation>archiviert</translation>
    </message>
    <message>
        <source>at a point that the trace does not record</source>
        <translation>an einer Stelle, die der Trace nicht nennt</translation>
    </message>
    <message>
        <source>at least {cost}</source>
        <translation>mindestens {cost}</translation>
    </message>
    <message>
        <source>automatic</source>
        <translation>automatisch</translation>
    </message>
    <message>
        <source>because of the character before the @, this is not an import</source>
        <translation>wegen des Zeichens vor dem @ ist es kein Import</translation>
    </message>
    <message>
        <source>by Reverie's rules a new session would not load it, though it did not change</source>
        <translation>nach Reveries Regeln würde eine neue Sitzung es nicht laden, obwohl es sich nicht geändert hat</translation>
    </message>
    <message>
        <source>by Reverie's rules it would be loaded, but this session did not load it</source>
        <translation>nach Reveries Regeln geladen, von dieser Sitzung nicht</translation>
    </message>
    <message>
        <source>by Reverie's rules its text would differ, although the file did not change</source>
        <translation>nach Reveries Regeln wäre der Text ein anderer, obwohl er sich nicht geändert hat</translation>
    </message>
    <message>
        <source>by a background job</source>
        <translation>von einem Hintergrundauftrag</translation>
    </message>
    <message>
        <source>by a consolidation</source>
        <translation>von einer Konsolidierung</translation>
    </message>
    <message>
        <source>by an extraction</source>
        <translation>durch eine Extraktion</translation>
    </message>
    <message>
        <source>by an import</source>
        <translation>von einem Import</translation>
    </message>
    <message>
        <source>by an update of the session notes</source>
        <translation>durch eine Aktualisierung der Sitzungsnotizen</translation>
    </message>
    <message>
        <source>by another program</source>
        <translation>von einem anderen Programm</translation>
    </message>
    <message>
        <source>by others</source>
        <translation>von anderen</translation>
    </message>
    <message>
        <source>by the agent</source>
        <translation>vom Agenten</translation>
    </message>
    <message>
        <source>by the memory writer</source>
        <translation>vom Notizschreiber</translation>
    </message>
    <message>
        <source>by your decision</source>
        <translation>durch Ihre Entscheidung</translation>
    </message>
    <message>
        <source>by your undo</source>
        <translation>durch Ihr Rückgängigmachen</translation>
    </message>
    <message>
        <source>cancelled</source>
        <translation>abgebrochen</translation>
    </message>
    <message>
        <source>cannot be merged</source>
        <translation>kann nicht zusammengeführt werden</translation>
    </message>
    <message>
        <source>changed since; a new session would load the current text</source>
        <translation>seitdem geändert; eine neue Sitzung würde den jetzigen Stand laden</translation>
    </message>
    <message>
        <source>chats failed</source>
        <translation>Gespräche fehlgeschlagen</translation>
    </message>
    <message>
        <source>compaction</source>
        <translation>Kompaktierung</translation>
    </message>
    <message>
        <source>completed</source>
        <translation>abgeschlossen</translation>
    </message>
    <message>
        <source>consolidated</source>
        <translation>konsolidiert</translation>
    </message>
    <message>
        <source>cost unknown</source>
        <translation>Kosten unbekannt</translation>
    </message>
    <message>
        <source>crash without an error class</source>
        <translation>ein Absturz ohne Klasse</translation>
    </message>
    <message>
        <source>create</source>
        <translation>anlegen</translation>
    </message>
    <message>
        <source>cut off</source>
        <translation>abgeschnitten</translation>
    </message>
    <message>
        <source>default</source>
        <translation>üblich</translation>
    </message>
    <message>
        <source>delete</source>
        <translation>löschen</translation>
    </message>
    <message>
        <source>deleted</source>
        <translation>gelöscht</translation>
    </message>
    <message numerus="yes">
        <source>deleted %n empty files</source>
        <translation><numerusform>%n leere Datei gelöscht</numerusform><numerusform>%n leere Dateien gelöscht</numerusform></translation>
    </message>
    <message>
        <source>didWriteMemory is true.</source>
        <translation>didWriteMemory ist true.</translation>
    </message>
    <message>
        <source>different: add as a second note</source>
        <translation>unterscheidet sich: eine Notiz daneben</translation>
    </message>
    <message>
        <source>different: combine both in one note</source>
        <translation>unterscheidet sich: beide in einer Notiz</translation>
    </message>
    <message>
        <source>different: not merged</source>
        <translation>unterscheidet sich: bleibt, wo sie ist</translation>
    </message>
    <message>
        <source>discarded</source>
        <translation>verworfen</translation>
    </message>
    <message>
        <source>done</source>
        <translation>fertig</translation>
    </message>
    <message>
        <source>earlier session {id}</source>
        <translation>frühere Sitzung {id}</translation>
    </message>
    <message>
        <source>edit</source>
        <translation>bearbeiten</translation>
    </message>
    <message>
        <source>empty; the agent never fills this in, but you can</source>
        <translation>noch keine; der Agent füllt sie nie aus</translation>
    </message>
    <message>
        <source>encoding of accented letters</source>
        <translation>Buchstaben mit Akzent, anders geschrieben</translation>
    </message>
    <message>
        <source>enough others are loaded in full</source>
        <translation>genug andere werden vollständig geladen</translation>
    </message>
    <message>
        <source>error without a message</source>
        <translation>ein Fehler ohne Worte</translation>
    </message>
    <message>
        <source>error without a type</source>
        <translation>ein Fehler ohne Art</translation>
    </message>
    <message>
        <source>excluded in the settings</source>
        <translation>in den Einstellungen ausgeschlossen</translation>
    </message>
    <message>
        <source>existing note contains every line</source>
        <translation>vorhandene Notiz enthält jede Zeile</translation>
    </message>
    <message>
        <source>extraction failed</source>
        <translation>Extraktion fehlgeschlagen</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>gescheitert</translation>
    </message>
    <message>
        <source>fails</source>
        <translation>scheitert</translation>
    </message>
    <message>
        <source>first seen</source>
        <translation>zuerst gesehen</translation>
    </message>
    <message>
        <source>from the conversation</source>
        <translation>aus dem Gespräch</translation>
    </message>
    <message>
        <source>from the environment</source>
        <translation>aus der Umgebung</translation>
    </message>
    <message>
        <source>future</source>
        <translation>Zukunft</translation>
    </message>
    <message>
        <source>held</source>
        <translation>angehalten</translation>
    </message>
    <message>
        <source>held for review</source>
        <translation>zur Durchsicht angehalten</translation>
    </message>
    <message numerus="yes">
        <source>held for review: import of %n files</source>
        <translation><numerusform>wartet auf Prüfung: Import von %n Datei</numerusform><numerusform>wartet auf Prüfung: Import von %n Dateien</numerusform></translation>
    </message>
    <message>
        <source>held for review: it would delete lines of {paths} that exist nowhere else</source>
        <translation>zur Prüfung angehalten: Es würden Zeilen von {paths} gelöscht, die sonst nirgends sind</translation>
    </message>
    <message>
        <source>held for review: it would lose {share} % of the lines in {scope} memory</source>
        <translation>zur Prüfung angehalten: {share} % der Zeilen von {scope} gingen verloren</translation>
    </message>
    <message>
        <source>held for review: some facts would change</source>
        <translation>zur Durchsicht angehalten: nicht jede Aussage bliebe, wie sie ist</translation>
    </message>
    <message>
        <source>identical note exists</source>
        <translation>dasselbe ist da</translation>
    </message>
    <message>
        <source>imports are followed four levels deep, and this one is deeper</source>
        <translation>Importe reichen vier Ebenen tief, dieser liegt tiefer</translation>
    </message>
    <message numerus="yes">
        <source>in %n days</source>
        <translation><numerusform>in %n Tag</numerusform><numerusform>in %n Tagen</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>in %n lessons</source>
        <translation><numerusform>in %n Lehre</numerusform><numerusform>in %n Lehren</numerusform></translation>
    </message>
    <message>
        <source>in Reverie's own directories</source>
        <translation>bei den eigenen Dateien von Reverie</translation>
    </message>
    <message>
        <source>in attempt {attempt}</source>
        <translation>in Versuch {attempt}</translation>
    </message>
    <message>
        <source>in attempt {attempt}, step {step}</source>
        <translation>in Versuch {attempt}, Schritt {step}</translation>
    </message>
    <message>
        <source>in attempt {attempt}, step {step}, before {tool} ran</source>
        <translation>in Versuch {attempt}, Schritt {step}, bevor {tool} ausgeführt wurde</translation>
    </message>
    <message>
        <source>in attempt {attempt}, step {step}, while waiting for the model</source>
        <translation>in Versuch {attempt}, Schritt {step}, beim Warten auf das Modell</translation>
    </message>
    <message>
        <source>in process {pid}; only that process can stop this job</source>
        <translation>in Prozess {pid}, der allein ihn beenden kann</translation>
    </message>
    <message>
        <source>in section “{name}”</source>
        <translation>im Abschnitt „{name}“</translation>
    </message>
    <message>
        <source>in the future</source>
        <translation>in der Zukunft</translation>
    </message>
    <message>
        <source>in the home directory</source>
        <translation>beim Home</translation>
    </message>
    <message>
        <source>in the keyring</source>
        <translation>im Schlüsselbund</translation>
    </message>
    <message>
        <source>insert</source>
        <translation>einfügen</translation>
    </message>
    <message>
        <source>instructions file</source>
        <translation>Anweisungsdatei</translation>
    </message>
    <message>
        <source>interrupted</source>
        <translation>unterbrochen</translation>
    </message>
    <message>
        <source>it cannot be read</source>
        <translation>es ist nicht lesbar</translation>
    </message>
    <message>
        <source>it does not fit into the remaining bytes</source>
        <translation>es passt nicht in die übrigen Bytes</translation>
    </message>
    <message>
        <source>it does not fit into the remaining tokens</source>
        <translation>es passt nicht in die übrigen Tokens</translation>
    </message>
    <message>
        <source>it is empty</source>
        <translation>es steht nichts darin</translation>
    </message>
    <message>
        <source>it is not text</source>
        <translation>es ist kein Text</translation>
    </message>
    <message>
        <source>it is not valid UTF-8, so the agent loads nothing of it</source>
        <translation>kein gültiges UTF-8, daher lädt der Agent nichts davon</translation>
    </message>
    <message>
        <source>its directory does not exist</source>
        <translation>sein Verzeichnis gibt es nicht</translation>
    </message>
    <message>
        <source>its index line is loaded</source>
        <translation>seine Zeile wird geladen</translation>
    </message>
    <message>
        <source>its rank is too low</source>
        <translation>zu weit unten in der Rangfolge</translation>
    </message>
    <message>
        <source>just now</source>
        <translation>gerade eben</translation>
    </message>
    <message>
        <source>kept {kept} of {all} facts</source>
        <translation>{kept} von {all} Angaben erhalten</translation>
    </message>
    <message>
        <source>kind or number of spaces</source>
        <translation>Leerzeichen anderer Art oder Zahl</translation>
    </message>
    <message>
        <source>larger than 4 MB</source>
        <translation>größer als 4 MB</translation>
    </message>
    <message>
        <source>launch</source>
        <translation>Start</translation>
    </message>
    <message>
        <source>line break at the end of the file</source>
        <translation>Zeilenumbruch am Ende der Datei</translation>
    </message>
    <message>
        <source>line endings (LF or CR LF)</source>
        <translation>Zeilenenden (LF oder CR LF)</translation>
    </message>
    <message>
        <source>listed</source>
        <translation>aufgeführt</translation>
    </message>
    <message>
        <source>loaded in full</source>
        <translation>vollständig geladen</translation>
    </message>
    <message>
        <source>loaded in part</source>
        <translation>teilweise geladen</translation>
    </message>
    <message>
        <source>loaded instead of AGENTS.md</source>
        <translation>statt AGENTS.md geladen</translation>
    </message>
    <message>
        <source>loaded only if its import was approved</source>
        <translation>nur geladen, wenn der Import genehmigt wurde</translation>
    </message>
    <message>
        <source>loaded only when needed</source>
        <translation>wird nur bei Bedarf geladen</translation>
    </message>
    <message>
        <source>loaded, but it may contain credentials: Reverie never opens it</source>
        <translation>geladen, kann aber Zugangsdaten enthalten: Reverie öffnet sie nie</translation>
    </message>
    <message>
        <source>made by hand in Reverie</source>
        <translation>von Hand in Reverie gemacht</translation>
    </message>
    <message>
        <source>manual</source>
        <translation>von Hand</translation>
    </message>
    <message>
        <source>memory disabled</source>
        <translation>wird nicht gemerkt</translation>
    </message>
    <message>
        <source>mentioned in this home's files</source>
        <translation>in Dateien dieses Homes genannt</translation>
    </message>
    <message numerus="yes">
        <source>merged %n exact duplicates</source>
        <translation><numerusform>%n genaues Doppel zusammengeführt</numerusform><numerusform>%n genaue Doppel zusammengeführt</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>merged %n groups of similar records</source>
        <translation><numerusform>%n Gruppe gleicher Einträge zusammengeführt</numerusform><numerusform>%n Gruppen gleicher Einträge zusammengeführt</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>merged %n memories that others contain</source>
        <translation><numerusform>%n Notiz zusammengeführt, die eine andere enthält</numerusform><numerusform>%n Notizen zusammengeführt, die andere enthalten</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>merged %n near-duplicates</source>
        <translation><numerusform>%n Beinahe-Doppel zusammengeführt</numerusform><numerusform>%n Beinahe-Doppel zusammengeführt</numerusform></translation>
    </message>
    <message>
        <source>missing</source>
        <translation>fehlt</translation>
    </message>
    <message>
        <source>mux loads this only if its “memory-hot-set” experiment is on. Reverie cannot detect whether it is.</source>
        <translation>mux lädt das nur, wenn sein Experiment „memory-hot-set“ an ist. Reverie kann nicht erkennen, ob das so ist.</translation>
    </message>
    <message>
        <source>needs attention</source>
        <translation>braucht einen Blick</translation>
    </message>
    <message>
        <source>neither pinned nor used</source>
        <translation>weder angeheftet noch benutzt</translation>
    </message>
    <message>
        <source>never</source>
        <translation>nie</translation>
    </message>
    <message>
        <source>never by Reverie</source>
        <translation>nie durch Reverie</translation>
    </message>
    <message>
        <source>new</source>
        <translation>neu</translation>
    </message>
    <message>
        <source>new since; a new session would load it</source>
        <translation>seitdem neu; eine neue Sitzung würde es laden</translation>
    </message>
    <message>
        <source>next</source>
        <translation>kommt als Nächstes</translation>
    </message>
    <message>
        <source>no change fits within the limits of a run</source>
        <translation>keine Änderung passt ins Budget</translation>
    </message>
    <message>
        <source>no changes</source>
        <translation>keine Änderungen</translation>
    </message>
    <message>
        <source>no changes needed</source>
        <translation>keine Änderungen nötig</translation>
    </message>
    <message>
        <source>no cost</source>
        <translation>kostenlos</translation>
    </message>
    <message>
        <source>no known fix</source>
        <translation>nichts bekannt, was hilft</translation>
    </message>
    <message>
        <source>no longer loaded</source>
        <translation>nicht mehr geladen</translation>
    </message>
    <message>
        <source>no result</source>
        <translation>kein Ergebnis</translation>
    </message>
    <message>
        <source>no such project</source>
        <translation>kein solches Projekt</translation>
    </message>
    <message>
        <source>no such workspace</source>
        <translation>kein solcher Workspace</translation>
    </message>
    <message>
        <source>none needed</source>
        <translation>nicht nötig</translation>
    </message>
    <message>
        <source>not created yet</source>
        <translation>noch nicht da</translation>
    </message>
    <message>
        <source>not listed in the index</source>
        <translation>keine Zeile des Index nennt es</translation>
    </message>
    <message>
        <source>not loaded</source>
        <translation>nicht geladen</translation>
    </message>
    <message>
        <source>not loaded as instructions</source>
        <translation>nicht als Anweisung geladen</translation>
    </message>
    <message>
        <source>not loaded: the agent recalls single memories instead</source>
        <translation>nicht geladen: Der Agent ruft stattdessen einzelne Erinnerungen ab</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>nicht gemessen</translation>
    </message>
    <message>
        <source>not read by the agent</source>
        <translation>liest der Agent nicht</translation>
    </message>
    <message>
        <source>not seen by the agent</source>
        <translation>der Agent sieht es nicht</translation>
    </message>
    <message>
        <source>not started</source>
        <translation>nicht begonnen</translation>
    </message>
    <message>
        <source>not started by a person</source>
        <translation>nicht von einem Menschen geführt</translation>
    </message>
    <message>
        <source>not tried</source>
        <translation>nicht versucht</translation>
    </message>
    <message>
        <source>not visible to the agent: {why}</source>
        <translation>der Agent sieht es nicht: {why}</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>nichts</translation>
    </message>
    <message>
        <source>nothing needed changing</source>
        <translation>nichts musste geändert werden</translation>
    </message>
    <message>
        <source>nothing new</source>
        <translation>nichts Neues</translation>
    </message>
    <message>
        <source>nothing was changed</source>
        <translation>nichts wurde geändert</translation>
    </message>
    <message>
        <source>nothing was restored</source>
        <translation>nichts wurde wiederhergestellt</translation>
    </message>
    <message>
        <source>now</source>
        <translation>jetzt</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>older file</source>
        <translation>ältere Datei</translation>
    </message>
    <message>
        <source>older layout</source>
        <translation>ältere Ordnung</translation>
    </message>
    <message>
        <source>one of the newest lessons</source>
        <translation>eine der neuesten Lehren</translation>
    </message>
    <message>
        <source>only its line in the index is loaded</source>
        <translation>nur seine Zeile im Index wird geladen</translation>
    </message>
    <message>
        <source>only its name is loaded</source>
        <translation>nur der Name wird geladen</translation>
    </message>
    <message>
        <source>only older versions load it</source>
        <translation>nur ältere Versionen laden es</translation>
    </message>
    <message>
        <source>only the newest lessons are sent</source>
        <translation>nur die neuesten Lehren werden gesendet</translation>
    </message>
    <message>
        <source>others</source>
        <translation>andere</translation>
    </message>
    <message>
        <source>partly undone</source>
        <translation>teilweise rückgängig gemacht</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
    <message>
        <source>pinned: no consolidation deletes or renames this memory; the agent itself does not use pins</source>
        <translation>angeheftet: keine Konsolidierung löscht es oder benennt es um; der Agent selbst kennt keine Anheftungen</translation>
    </message>
    <message>
        <source>preview</source>
        <translation>Vorschau</translation>
    </message>
    <message>
        <source>project not found</source>
        <translation>Projekt nicht gefunden</translation>
    </message>
    <message>
        <source>proposal</source>
        <translation>Vorschlag</translation>
    </message>
    <message>
        <source>read after approval</source>
        <translation>wird nach Genehmigung gelesen</translation>
    </message>
    <message>
        <source>read when needed</source>
        <translation>wird bei Bedarf gelesen</translation>
    </message>
    <message>
        <source>read-only</source>
        <translation>nur zum Lesen</translation>
    </message>
    <message>
        <source>reading</source>
        <translation>liest</translation>
    </message>
    <message>
        <source>ready</source>
        <translation>bereit</translation>
    </message>
    <message numerus="yes">
        <source>reapplied %n files</source>
        <translation><numerusform>%n Datei wieder angewendet</numerusform><numerusform>%n Dateien wieder angewendet</numerusform></translation>
    </message>
    <message>
        <source>recalled for some prompts</source>
        <translation>für manche Eingaben abgerufen</translation>
    </message>
    <message>
        <source>recalled in part: the model gets only the first 4,096 bytes</source>
        <translation>teilweise abgerufen: Nur die ersten 4.096 Bytes erreichen das Modell</translation>
    </message>
    <message numerus="yes">
        <source>removed %n notes from conversations that other memories already contain</source>
        <translation><numerusform>%n aufgelesene Notiz entfernt, die andere Notizen enthalten</numerusform><numerusform>%n aufgelesene Notizen entfernt, die andere Notizen enthalten</numerusform></translation>
    </message>
    <message>
        <source>rename</source>
        <translation>umbenennen</translation>
    </message>
    <message>
        <source>renamed</source>
        <translation>umbenannt</translation>
    </message>
    <message>
        <source>resolved: {text}</source>
        <translation>gelöst: {text}</translation>
    </message>
    <message>
        <source>restored</source>
        <translation>wiederhergestellt</translation>
    </message>
    <message numerus="yes">
        <source>restored %n files</source>
        <translation><numerusform>%n Datei wiederhergestellt</numerusform><numerusform>%n Dateien wiederhergestellt</numerusform></translation>
    </message>
    <message>
        <source>rules</source>
        <translation>Regeln</translation>
    </message>
    <message>
        <source>running</source>
        <translation>läuft</translation>
    </message>
    <message>
        <source>same first commit</source>
        <translation>derselbe erste Commit</translation>
    </message>
    <message>
        <source>same name</source>
        <translation>derselbe Name</translation>
    </message>
    <message>
        <source>same remote</source>
        <translation>dasselbe Remote</translation>
    </message>
    <message>
        <source>saved</source>
        <translation>behalten</translation>
    </message>
    <message>
        <source>score {score}</source>
        <translation>Wert {score}</translation>
    </message>
    <message numerus="yes">
        <source>seen %n times</source>
        <translation><numerusform>%n-mal gesehen</numerusform><numerusform>%n-mal gesehen</numerusform></translation>
    </message>
    <message>
        <source>sent to the agent for this goal</source>
        <translation>wird dem Agenten zu diesem Ziel gesendet</translation>
    </message>
    <message>
        <source>shortened to fit</source>
        <translation>auf das Passende gekürzt</translation>
    </message>
    <message>
        <source>skipped</source>
        <translation>übersprungen</translation>
    </message>
    <message>
        <source>stale</source>
        <translation>veraltet</translation>
    </message>
    <message>
        <source>starting at entry {number}</source>
        <translation>ab Eintrag {number}</translation>
    </message>
    <message>
        <source>still in use</source>
        <translation>noch in Gebrauch</translation>
    </message>
    <message>
        <source>sub-agent</source>
        <translation>Unteragent</translation>
    </message>
    <message>
        <source>the agent</source>
        <translation>der Agent</translation>
    </message>
    <message>
        <source>the agent does not import files of this type</source>
        <translation>Dateien dieser Art importiert der Agent nicht</translation>
    </message>
    <message>
        <source>the agent loads the file from the place that the project's own settings name</source>
        <translation>der Agent lädt die an dem Ort, den die Einstellungen des Projekts nennen</translation>
    </message>
    <message>
        <source>the agent reads only a part of this description</source>
        <translation>der Agent liest nur einen Teil dieser Beschreibung</translation>
    </message>
    <message>
        <source>the agent's configuration</source>
        <translation>der Konfiguration des Agenten</translation>
    </message>
    <message>
        <source>the changes to undo no longer existed</source>
        <translation>was zurückgenommen werden sollte, war schon weg</translation>
    </message>
    <message>
        <source>the character after the path is treated as part of the path</source>
        <translation>das Zeichen dahinter zählt zum Pfad</translation>
    </message>
    <message>
        <source>the file does not exist</source>
        <translation>es gibt keine</translation>
    </message>
    <message>
        <source>the file does not exist; paths are relative to the directory of the importing file</source>
        <translation>es gibt keine solche Datei; ein Pfad zählt ab dem Verzeichnis der Datei, die ihn nennt</translation>
    </message>
    <message>
        <source>the file no longer exists; a new session would not load it</source>
        <translation>eine neue Sitzung würde es nicht laden: Die Datei ist nicht da</translation>
    </message>
    <message>
        <source>the keyring is locked</source>
        <translation>der Schlüsselbund ist gesperrt</translation>
    </message>
    <message>
        <source>the keyring is not responding</source>
        <translation>der Schlüsselbund antwortet nicht</translation>
    </message>
    <message>
        <source>the last line is incomplete</source>
        <translation>die letzte Zeile ist halb geschrieben</translation>
    </message>
    <message>
        <source>the session notes were updated</source>
        <translation>die Sitzungsnotizen wurden aktualisiert</translation>
    </message>
    <message>
        <source>thinking</source>
        <translation>denkt nach</translation>
    </message>
    <message>
        <source>this import loads nothing</source>
        <translation>dieser Import lädt nichts</translation>
    </message>
    <message numerus="yes">
        <source>tidied %n files</source>
        <translation><numerusform>%n Datei aufgeräumt</numerusform><numerusform>%n Dateien aufgeräumt</numerusform></translation>
    </message>
    <message>
        <source>timedOut is true.</source>
        <translation>timedOut ist true.</translation>
    </message>
    <message>
        <source>too old</source>
        <translation>zu alt</translation>
    </message>
    <message>
        <source>trailing spaces</source>
        <translation>Leerzeichen am Ende</translation>
    </message>
    <message>
        <source>unavailable</source>
        <translation>nicht verfügbar</translation>
    </message>
    <message>
        <source>under $0.01</source>
        <translation>unter 0,01 $</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>rückgängig gemacht</translation>
    </message>
    <message>
        <source>unknown time</source>
        <translation>unbekannte Zeit</translation>
    </message>
    <message numerus="yes">
        <source>updated the paths of moved files in %n memories</source>
        <translation><numerusform>in %n Notiz Pfade verschobener Dateien nachgeführt</numerusform><numerusform>in %n Notizen Pfade verschobener Dateien nachgeführt</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>used %n times</source>
        <translation><numerusform>%n-mal benutzt</numerusform><numerusform>%n-mal benutzt</numerusform></translation>
    </message>
    <message>
        <source>used often</source>
        <translation>oft benutzt</translation>
    </message>
    <message>
        <source>used {agent}× by the agent, {own}× by you and Reverie</source>
        <translation>benutzt: {agent}× vom Agenten, {own}× von Ihnen und Reverie</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>wartet</translation>
    </message>
    <message>
        <source>waiting for a retry</source>
        <translation>auf einen neuen Versuch wartend</translation>
    </message>
    <message>
        <source>warning</source>
        <translation>Warnung</translation>
    </message>
    <message>
        <source>works</source>
        <translation>geht</translation>
    </message>
    <message>
        <source>writing</source>
        <translation>schreibt</translation>
    </message>
    <message numerus="yes">
        <source>wrote or repaired %n descriptions</source>
        <translation><numerusform>%n Beschreibung geschrieben oder berichtigt</numerusform><numerusform>%n Beschreibungen geschrieben oder berichtigt</numerusform></translation>
    </message>
    <message>
        <source>you</source>
        <translation>Sie</translation>
    </message>
    <message>
        <source>you chose {stays} over {goes}</source>
        <translation>sie haben {stays} statt {goes} gewählt</translation>
    </message>
    <message>
        <source>{about} characters; the agent loads the first {chars}</source>
        <translation>{about} Zeichen; der Agent lädt die ersten {chars}</translation>
    </message>
    <message>
        <source>{about} lines; the agent loads the first {most}</source>
        <translation>{about} Zeilen; der Agent lädt die ersten {most}</translation>
    </message>
    <message numerus="yes">
        <source>{age} (%n times)</source>
        <translation><numerusform>{age} (%n-mal)</numerusform><numerusform>{age} (%n-mal)</numerusform></translation>
    </message>
    <message>
        <source>{age} · failed</source>
        <translation>{age} · fehlgeschlagen</translation>
    </message>
    <message>
        <source>{age} · not finished</source>
        <translation>{age} · nicht fertig</translation>
    </message>
    <message>
        <source>{age}.</source>
        <translation>{age}.</translation>
    </message>
    <message>
        <source>{age}: {text}</source>
        <translation>{age}: {text}</translation>
    </message>
    <message>
        <source>{amount} tokens</source>
        <translation>{amount} Tokens</translation>
    </message>
    <message>
        <source>{before} no longer exists. {root} may be the same home in a new place.</source>
        <translation>{before} gibt es nicht mehr. {root} ist vielleicht dasselbe Home an einem neuen Ort.</translation>
    </message>
    <message>
        <source>{bytes} bytes · {tokens} tokens</source>
        <translation>{bytes} Bytes · {tokens} Tokens</translation>
    </message>
    <message>
        <source>{counted}, but no run started: the interval was misread, or a run was stuck.</source>
        <translation>{counted}, und kein Lauf begann: Der Abstand wurde falsch gelesen, oder ein Lauf hing.</translation>
    </message>
    <message>
        <source>{counted}; no run has been due yet.</source>
        <translation>{counted}; noch kein Lauf war fällig.</translation>
    </message>
    <message numerus="yes">
        <source>{count} of %n turns counted</source>
        <translation><numerusform>{count} von %n Zug gezählt</numerusform><numerusform>{count} von %n Zügen gezählt</numerusform></translation>
    </message>
    <message>
        <source>{detail} is set, so Claude Code loads nothing here. This is what it would load.</source>
        <translation>{detail} ist gesetzt: Claude Code lädt hier nichts; das würde es laden.</translation>
    </message>
    <message>
        <source>{duration}, {age}</source>
        <translation>{duration}, {age}</translation>
    </message>
    <message>
        <source>{entries} so far</source>
        <translation>bisher {entries}</translation>
    </message>
    <message>
        <source>{evidence} ({age})</source>
        <translation>{evidence} ({age})</translation>
    </message>
    <message>
        <source>{file}, line {line}: no memory has the name “{name}”</source>
        <translation>{file}, Zeile {line}: nichts heißt „{name}“</translation>
    </message>
    <message>
        <source>{first} and {last}</source>
        <translation>{first} und {last}</translation>
    </message>
    <message>
        <source>{id} is complete.</source>
        <translation>{id} endete.</translation>
    </message>
    <message>
        <source>{id} was completed {age}.</source>
        <translation>{id} endete, {age}.</translation>
    </message>
    <message>
        <source>{index}: {lines} of {most_lines} lines, {chars} of {most_chars} characters.</source>
        <translation>{index}: {lines} von {most_lines} Zeilen, {chars} von {most_chars} Zeichen.</translation>
    </message>
    <message>
        <source>{job}: {text}{retry}</source>
        <translation>{job}: {text}{retry}</translation>
    </message>
    <message>
        <source>{label}: {text}</source>
        <translation>{label}: {text}</translation>
    </message>
    <message>
        <source>{large} has everything that {small} states</source>
        <translation>{large} enthält alles, was in {small} steht</translation>
    </message>
    <message>
        <source>{large} has everything that {small} states.</source>
        <translation>{large} enthält alles, was in {small} steht.</translation>
    </message>
    <message>
        <source>{length} in the future</source>
        <translation>{length} in der Zukunft</translation>
    </message>
    <message>
        <source>{level}: the log records every decision.</source>
        <translation>{level}: Jede Entscheidung wird protokolliert.</translation>
    </message>
    <message>
        <source>{model} cannot be used: {why}</source>
        <translation>{model} lässt sich nicht fragen: {why}</translation>
    </message>
    <message>
        <source>{model}.</source>
        <translation>{model}.</translation>
    </message>
    <message>
        <source>{model}: {problem}</source>
        <translation>{model}: {problem}</translation>
    </message>
    <message>
        <source>{m} min {s} s</source>
        <translation>{m} min {s} s</translation>
    </message>
    <message>
        <source>{names} match equally well. Choose one project. {reasons}</source>
        <translation>Für {names} spricht dasselbe. Eines auswählen. {reasons}</translation>
    </message>
    <message>
        <source>{name} changed size</source>
        <translation>{name} ist anders groß</translation>
    </message>
    <message>
        <source>{name} is complete again</source>
        <translation>{name} ist wieder ganz</translation>
    </message>
    <message>
        <source>{name} is locked. Until it is free, no other process can change its memory.</source>
        <translation>{name} ist gehalten. Bis es frei ist, schreibt nichts anderes in die Notizen.</translation>
    </message>
    <message>
        <source>{name} is not locked.</source>
        <translation>{name} ist frei.</translation>
    </message>
    <message>
        <source>{name} is now cut off</source>
        <translation>{name} ist jetzt gekürzt</translation>
    </message>
    <message>
        <source>{name} was added</source>
        <translation>{name} ist neu darin</translation>
    </message>
    <message>
        <source>{name} was removed</source>
        <translation>{name} ist nicht mehr darin</translation>
    </message>
    <message>
        <source>{name}: {marks}</source>
        <translation>{name}: {marks}</translation>
    </message>
    <message>
        <source>{name}: {problem}</source>
        <translation>{name}: {problem}</translation>
    </message>
    <message>
        <source>{name}: {size}, last grew {age}.</source>
        <translation>{name}: {size}, zuletzt gewachsen {age}.</translation>
    </message>
    <message>
        <source>{newer} is the later version of {older}</source>
        <translation>{newer} ist die spätere Fassung von {older}</translation>
    </message>
    <message>
        <source>{newer} is the later version of {older}.</source>
        <translation>{newer} ist die spätere Fassung von {older}.</translation>
    </message>
    <message>
        <source>{newer} says that this is done</source>
        <translation>laut {newer} ist das erledigt</translation>
    </message>
    <message>
        <source>{newer} says that this is done.</source>
        <translation>Laut {newer} ist das erledigt.</translation>
    </message>
    <message>
        <source>{newer} says that {instead} has replaced {gone}</source>
        <translation>laut {newer} hat {instead} {gone} ersetzt</translation>
    </message>
    <message>
        <source>{newer} says that {instead} has replaced {gone}.</source>
        <translation>Laut {newer} hat {instead} {gone} ersetzt.</translation>
    </message>
    <message>
        <source>{newer} was written later than {older}</source>
        <translation>{newer} wurde später geschrieben als {older}</translation>
    </message>
    <message>
        <source>{newer} was written later than {older}.</source>
        <translation>{newer} wurde später geschrieben als {older}.</translation>
    </message>
    <message>
        <source>{n} already exist</source>
        <translation>{n} schon da</translation>
    </message>
    <message>
        <source>{n} by index line</source>
        <translation>{n} mit Indexzeile</translation>
    </message>
    <message>
        <source>{n} by name</source>
        <translation>{n} mit Namen</translation>
    </message>
    <message>
        <source>{n} d</source>
        <translation>{n} T.</translation>
    </message>
    <message>
        <source>{n} d ago</source>
        <translation>vor {n} T.</translation>
    </message>
    <message>
        <source>{n} h</source>
        <translation>{n} Std.</translation>
    </message>
    <message>
        <source>{n} h ago</source>
        <translation>vor {n} Std.</translation>
    </message>
    <message>
        <source>{n} in full</source>
        <translation>{n} ganz</translation>
    </message>
    <message>
        <source>{n} in part</source>
        <translation>{n} zum Teil</translation>
    </message>
    <message>
        <source>{n} merged with existing notes</source>
        <translation>{n} mit Vorhandenem zusammengeführt</translation>
    </message>
    <message>
        <source>{n} min</source>
        <translation>{n} Min.</translation>
    </message>
    <message>
        <source>{n} min ago</source>
        <translation>vor {n} Min.</translation>
    </message>
    <message>
        <source>{n} mo</source>
        <translation>{n} Mon.</translation>
    </message>
    <message>
        <source>{n} mo ago</source>
        <translation>vor {n} Mon.</translation>
    </message>
    <message>
        <source>{n} more are not shown.</source>
        <translation>Und {n} weitere.</translation>
    </message>
    <message>
        <source>{n} ms</source>
        <translation>{n} ms</translation>
    </message>
    <message>
        <source>{n} new</source>
        <translation>{n} neu</translation>
    </message>
    <message>
        <source>{n} not merged</source>
        <translation>{n} bleiben, wo sie sind</translation>
    </message>
    <message>
        <source>{n} s</source>
        <translation>{n} s</translation>
    </message>
    <message>
        <source>{n} wk</source>
        <translation>{n} Wo.</translation>
    </message>
    <message>
        <source>{n} wk ago</source>
        <translation>vor {n} Wo.</translation>
    </message>
    <message>
        <source>{n} y</source>
        <translation>{n} J.</translation>
    </message>
    <message>
        <source>{n} y ago</source>
        <translation>vor {n} J.</translation>
    </message>
    <message>
        <source>{n} {state}.</source>
        <translation>{n} {state}.</translation>
    </message>
    <message>
        <source>{often}, as set in {where}.</source>
        <translation>{often}, wie in {where}.</translation>
    </message>
    <message>
        <source>{old} will be renamed to {new}. This also changes {lines} in {files}:</source>
        <translation>Aus {old} wird {new}. Damit ändern sich {lines} in {files}:</translation>
    </message>
    <message>
        <source>{path} already contains every line of this note.</source>
        <translation>{path} hat schon jede Zeile davon.</translation>
    </message>
    <message>
        <source>{path} already has the same content.</source>
        <translation>{path} ist schon gleich.</translation>
    </message>
    <message>
        <source>{path} does not change; the lines that differ remain only in the orphaned note.</source>
        <translation>{path} ändert sich nicht; die abweichenden Zeilen bleiben nur in der verwaisten Notiz.</translation>
    </message>
    <message>
        <source>{path} does not change; the orphaned note is added as {beside}.</source>
        <translation>{path} bleibt, wie es ist; aus der verwaisten Notiz wird {beside}.</translation>
    </message>
    <message>
        <source>{path} does not exist yet; the first run creates it.</source>
        <translation>{path} ist noch nicht da; der erste Lauf legt es an.</translation>
    </message>
    <message>
        <source>{path} does not exist: there are no messages yet.</source>
        <translation>{path} gibt es nicht: Hier wurde noch nichts gesagt.</translation>
    </message>
    <message>
        <source>{path} is not a regular file.</source>
        <translation>{path} ist keine gewöhnliche Datei.</translation>
    </message>
    <message>
        <source>{path} is one of several checkouts of a repository; another checkout has the most notes.</source>
        <translation>{path} ist einer von mehreren Checkouts eines Repositorys; ein anderer Checkout hat die meisten Notizen.</translation>
    </message>
    <message>
        <source>{path} is write-protected.</source>
        <translation>{path} ist schreibgeschützt.</translation>
    </message>
    <message>
        <source>{path} will contain every line of both notes, with its existing lines first.</source>
        <translation>{path} bekommt jede Zeile von beiden; die vorhandenen stehen zuerst.</translation>
    </message>
    <message>
        <source>{path}, line {first}</source>
        <translation>{path}, Zeile {first}</translation>
    </message>
    <message>
        <source>{path}, line {line}</source>
        <translation>{path}, Zeile {line}</translation>
    </message>
    <message>
        <source>{path}, lines {first} to {last}</source>
        <translation>{path}, Zeilen {first} bis {last}</translation>
    </message>
    <message>
        <source>{path}: {size}, last changed {age}.</source>
        <translation>{path}: {size}, zuletzt geändert {age}.</translation>
    </message>
    <message>
        <source>{place}, {tool}</source>
        <translation>{place}, {tool}</translation>
    </message>
    <message>
        <source>{place}: no problems</source>
        <translation>{place}: Alles in Ordnung</translation>
    </message>
    <message>
        <source>{place}: {fact}</source>
        <translation>{place}: {fact}</translation>
    </message>
    <message>
        <source>{place}: {quote}</source>
        <translation>{place}: {quote}</translation>
    </message>
    <message>
        <source>{purpose}, process {pid}, since {age}.</source>
        <translation>{purpose}, Prozess {pid}, seit {age}.</translation>
    </message>
    <message>
        <source>{scope}, last consolidated: {when}</source>
        <translation>{scope}, zuletzt konsolidiert: {when}</translation>
    </message>
    <message>
        <source>{signs}: found in versions that load one file per project.</source>
        <translation>{signs}: von einer Version, die eine Datei je Projekt lädt.</translation>
    </message>
    <message>
        <source>{signs}: found in versions that load project memories.</source>
        <translation>{signs}: von einer Version, die Notizen des Projekts lädt.</translation>
    </message>
    <message>
        <source>{size} are free {where}.</source>
        <translation>{size} sind frei {where}.</translation>
    </message>
    <message>
        <source>{skipped} skipped</source>
        <translation>{skipped} ausgelassen</translation>
    </message>
    <message>
        <source>{statements} in {memories}</source>
        <translation>{statements} in {memories}</translation>
    </message>
    <message>
        <source>{summary} These files were left unchanged, because they were edited after the run: {paths}</source>
        <translation>{summary} Diese Dateien bleiben unverändert, weil sie nach dem Lauf bearbeitet wurden: {paths}</translation>
    </message>
    <message>
        <source>{summary} This file was left unchanged, because it was edited after the run: {paths}</source>
        <translation>{summary} Diese Datei bleibt unverändert, weil sie nach dem Lauf bearbeitet wurde: {paths}</translation>
    </message>
    <message>
        <source>{text} ({age})</source>
        <translation>{text} ({age})</translation>
    </message>
    <message>
        <source>{things} will be moved to {folder}. This also changes {lines} in {files}:</source>
        <translation>{things} werden nach {folder} verschoben. Damit ändern sich {lines} in {files}:</translation>
    </message>
    <message>
        <source>{times}, {age}</source>
        <translation>{times}, {age}</translation>
    </message>
    <message>
        <source>{tokens} tokens in the middle are left out</source>
        <translation>{tokens} Tokens aus seiner Mitte fehlen</translation>
    </message>
    <message>
        <source>{tokens}, {cost}.</source>
        <translation>{tokens}, {cost}.</translation>
    </message>
    <message>
        <source>{token} is now {to}</source>
        <translation>{token} heißt jetzt {to}</translation>
    </message>
    <message>
        <source>{token} moved to {to}</source>
        <translation>{token} liegt jetzt unter {to}</translation>
    </message>
    <message>
        <source>{token} no longer exists</source>
        <translation>{token} gibt es nicht mehr</translation>
    </message>
    <message>
        <source>{tool} failed {where}: {quote}</source>
        <translation>{tool} scheiterte {where}: {quote}</translation>
    </message>
    <message>
        <source>{tool} was rejected {where}: {quote}</source>
        <translation>{tool} wurde {where} abgelehnt: {quote}</translation>
    </message>
    <message>
        <source>{used} bytes</source>
        <translation>{used} Bytes</translation>
    </message>
    <message>
        <source>{used} characters</source>
        <translation>{used} Zeichen</translation>
    </message>
    <message>
        <source>{used} files</source>
        <translation>{used} Dateien</translation>
    </message>
    <message>
        <source>{used} lessons</source>
        <translation>{used} Lehren</translation>
    </message>
    <message>
        <source>{used} lines</source>
        <translation>{used} Zeilen</translation>
    </message>
    <message>
        <source>{used} memories</source>
        <translation>{used} Notizen</translation>
    </message>
    <message>
        <source>{used} of {cap} bytes</source>
        <translation>{used} von {cap} Bytes</translation>
    </message>
    <message>
        <source>{used} of {cap} characters</source>
        <translation>{used} von {cap} Zeichen</translation>
    </message>
    <message>
        <source>{used} of {cap} files</source>
        <translation>{used} von {cap} Dateien</translation>
    </message>
    <message>
        <source>{used} of {cap} lessons</source>
        <translation>{used} von {cap} Lehren</translation>
    </message>
    <message>
        <source>{used} of {cap} lines</source>
        <translation>{used} von {cap} Zeilen</translation>
    </message>
    <message>
        <source>{used} of {cap} memories</source>
        <translation>{used} von {cap} Notizen</translation>
    </message>
    <message>
        <source>{used} of {cap} tokens</source>
        <translation>{used} von {cap} Tokens</translation>
    </message>
    <message>
        <source>{used} tokens</source>
        <translation>{used} Tokens</translation>
    </message>
    <message>
        <source>{verdict} ({place})</source>
        <translation>{verdict} ({place})</translation>
    </message>
    <message>
        <source>{what} is in the future ({age}). Check this computer's clock.</source>
        <translation>{what} ist datiert {age}. Stellen Sie die Uhr dieses Rechners.</translation>
    </message>
    <message>
        <source>{what}, line {line}</source>
        <translation>{what}, Zeile {line}</translation>
    </message>
    <message>
        <source>{what}: started {start} into the run, took {length}</source>
        <translation>{what}: begann {start} nach dem Start des Laufs, dauerte {length}</translation>
    </message>
    <message>
        <source>{why} · the running agent has not read this pin change yet</source>
        <translation>{why} · der laufende Agent kennt die geänderte Anheftung noch nicht</translation>
    </message>
    <message>
        <source>{why}: line {line}</source>
        <translation>{why}: Zeile {line}</translation>
    </message>
    <message>
        <source>{why}: {problem}</source>
        <translation>{why}: {problem}</translation>
    </message>
    <message>
        <source>“{file}” has no description</source>
        <translation>„{file}“ hat keine Beschreibung</translation>
    </message>
    <message>
        <source>“{file}” is a conflict copy of the index, created by a sync program</source>
        <translation>„{file}“ ist eine Kopie des Index, die ein Synchronisierungsprogramm bei einem Konflikt angelegt hat</translation>
    </message>
    <message>
        <source>“{file}” is not listed in this index</source>
        <translation>„{file}“ hat hier keine Zeile</translation>
    </message>
    <message>
        <source>“{file}”: another memory is also named “{about}”</source>
        <translation>„{file}“: Auch eine andere Notiz heißt „{about}“</translation>
    </message>
    <message numerus="yes">
        <source>… %n more lines</source>
        <translation><numerusform>… %n weitere Zeile</numerusform><numerusform>… %n weitere Zeilen</numerusform></translation>
    </message>
    <message>
        <source>… the rest is too long to show here.</source>
        <translation>… der Rest ist zu lang, um ihn hier zu zeigen.</translation>
    </message>
    <message>
        <source>… {n} more characters of this line are not shown</source>
        <translation>… {n} weitere Zeichen dieser Zeile werden nicht gezeigt</translation>
    </message>
    <message numerus="yes">
        <source>−%n tokens</source>
        <translation><numerusform>−%n Token</numerusform><numerusform>−%n Token</numerusform></translation>
    </message>
</context>
</TS>
