import type { App } from '../../core/app.ts';
import type { editors as operations } from '../../core/gateway/operations/editors.ts';
import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import type { EditorSession } from '../../core/storage/editor-sessions.ts';
import { changedTexts } from './changed-texts.ts';
import { unknownSession } from './session-log.ts';

/** What code editors ask about their conversations. */
export function editorRequests({
  editors,
  changes,
  plugins,
  redact,
}: App): Pick<RequestHandlers, keyof typeof operations> {
  const known = (session: string, found: EditorSession | undefined): EditorSession => {
    if (found === undefined) throw unknownSession(session);
    return found;
  };
  return {
    editorsOpen: ({ session, folder }) => editors.open(session, folder),
    editorsAllow: async ({ session, allowed, always }) =>
      known(session, await editors.decide(session, allowed, always)),
    editorsReadOnly: async ({ session, readOnly }) => known(session, await editors.setReadOnly(session, readOnly)),
    editorsChanges: async ({ session, turn, call }) => {
      const made = (await changes.of(session, turn)).filter((change) => change.call === call);
      const found = await Promise.all(
        [...Map.groupBy(made, ({ path }) => path)].map(async ([path, [first, ...more]]) => {
          const texts = first === undefined ? null : await changedTexts({ first, last: more.at(-1) ?? first }, changes);
          if (texts === null) return [];
          const before = first?.before === null ? null : redact(texts.before);
          return [{ path, before, after: redact(texts.after) }];
        }),
      );
      return found.flat();
    },
    editorsServers: async ({ session }) => {
      const reports = await Promise.all(plugins.each('editorServers').map(([, servers]) => servers.started(session)));
      return reports.flat().map((one) => ({ ...one, trouble: one.trouble === null ? null : redact(one.trouble) }));
    },
    editorsShow: async ({ session }) => editors.of(session) ?? null,
  };
}
