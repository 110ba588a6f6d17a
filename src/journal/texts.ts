/** The columns of the journal that hold what people, models and tools wrote, as texts or JSON; `test/journal/texts.test.ts` names the others. */
export const JOURNAL_TEXTS: Readonly<Record<string, readonly string[]>> = {
  inbound: ['payload', 'reason'],
  outbound: ['payload', 'reason'],
  parts: ['text'],
  archives: ['note', 'result'],
  approvals: ['reason', 'request'],
  asks: ['choices', 'answer'],
  questions: ['choices', 'request', 'answer'],
  cron_run: ['reason'],
  heartbeat: ['reason', 'verdict'],
  owner_chats: ['payload'],
  channel_states: ['detail'],
  passed_over: ['reason'],
  facts: ['fact', 'replaced_by'],
  fact_change: ['change'],
};
