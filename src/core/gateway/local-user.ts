import { userInfo } from 'node:os';

/** The name of the user that this process runs as; `owner` where the system does not say. */
export function localUser(): string {
  try {
    return userInfo().username;
  } catch {
    return 'owner';
  }
}
