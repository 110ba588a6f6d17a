import { AppError } from '../../core/util/errors.ts';

const PASSWORD = /(?<=^postgres(?:ql)?:\/\/[^@/?:]*):[^/?]*(?=@)|(?<=[?&](?:password|sslpassword)=)[^&]*/gu;

/** An address of PostgreSQL as a person may see it: without the password. */
export function shownAddress(address: string): string {
  return address.replaceAll(PASSWORD, (found) => (found.startsWith(':') ? '' : '***'));
}

/** Does the work; the sentence of its error says neither the address nor the password. */
export async function withoutPassword<T>(address: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const passwords = Array.from(address.matchAll(PASSWORD), ([found]) => found.replace(/^:/u, '')).filter(Boolean);
    const secrets = [...passwords, ...passwords.map(decoded)];
    const message = secrets.reduce(
      (text, secret) => text.replaceAll(secret, '***'),
      error.message.replaceAll(address, shownAddress(address)),
    );
    throw new AppError(error.code, message, { exitCode: error.exitCode, facts: { ...error.facts } });
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
