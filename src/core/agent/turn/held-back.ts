import type { InboundMessage } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import type { OwnTurns } from '../../extension.ts';
import type { EntryOf } from '../../session/entry.ts';
import type { TurnFacts } from '../hooks/hooks.ts';

/** Whether the answer of a self-started turn is held back. `hasSent`: the turn has already sent a message. */
export async function isHeldBack(
  facts: TurnFacts,
  { end, hasSent }: { readonly end: EntryOf<'turn-end'>; readonly hasSent: boolean },
  app: App,
): Promise<boolean> {
  const origin = facts.messages.at(-1)?.origin ?? '';
  return (await ownTurns(app, origin)?.holdBack(facts, end, hasSent)) ?? isOrphan(origin, app);
}

/** Whether an earlier process decided so about a turn that is given up. */
export function wasHeldBack(turnId: string, { origin, id }: InboundMessage, app: App): boolean {
  return ownTurns(app, origin)?.wasHeldBack(turnId, id) ?? isOrphan(origin, app);
}

/** Nobody judges a report whose extension is switched off. */
function isOrphan(origin: string, { program }: App): boolean {
  return program.origins.of(origin).isReport === true;
}

/** How the extension treats its turns whose messages have this origin. */
function ownTurns({ plugins }: App, origin: string): OwnTurns | undefined {
  return plugins
    .each('turns')
    .map(([, turns]) => turns[origin])
    .find((found) => found !== undefined);
}
