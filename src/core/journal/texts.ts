import type { NamedTables } from './tables.ts';

/** The columns of the journal that hold what people, models and tools wrote, as texts or JSON; `test/journal/texts.test.ts` names the others. */
const CORE_TEXTS: Readonly<Record<string, readonly string[]>> = {
  inbound: ['payload', 'reason'],
  outbound: ['payload', 'reason'],
  parts: ['text'],
  archives: ['note', 'result'],
  approvals: ['reason', 'request'],
  asks: ['choices', 'answer'],
  questions: ['choices', 'request', 'answer'],
  owner_chats: ['payload'],
  channel_states: ['detail'],
  passed_over: ['reason'],
  landings: ['command'],
  facts: ['fact', 'replaced_by'],
  fact_change: ['change'],
};

/** With those of extensions, whether or not they are on: what they wrote is there. */
export function journalTexts(tables: readonly NamedTables[]): Readonly<Record<string, readonly string[]>> {
  return Object.assign({}, CORE_TEXTS, ...tables.map(({ texts }) => texts));
}
