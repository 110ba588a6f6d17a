/** SQL condition: the column `session` names an ephemeral session. */
export const EPHEMERAL_SQL = "session >= 'ephemeral:' AND session < 'ephemeral;'";

/** Key of a session that is removed after a day and that nothing is remembered or found of. `id`: letters and digits. */
export function ephemeralSession(id: string): string {
  return `ephemeral:${id}`;
}

/** Whether a key is one of `ephemeralSession`. */
export function isEphemeral(sessionKey: string): boolean {
  return sessionKey.startsWith('ephemeral:');
}
