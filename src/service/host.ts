import { realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { AppError } from '../core/util/errors.ts';

/** The machine and the person at it, as the commands of the service see them. */
export interface Host {
  readonly platform: NodeJS.Platform;
  readonly uid: number;
  readonly user: string;
  /** The folder of the person, not of the assistant. Absolute. */
  readonly userHome: string;
  /** The Node that runs this. Absolute, without symbolic links. */
  readonly node: string;
  /** The program that was started: the launcher of the package. Absolute, without symbolic links. */
  readonly program: string;
  /** What stands for `/` before the folders of the system. @default '/' */
  readonly root: string;
}

/** The host of this process. Throws `no-user` for a process whose user has no name. */
export function thisHost(): Host {
  let facts;
  try {
    facts = userInfo();
  } catch (cause) {
    throw new AppError('no-user', 'The user of this process is not known to the system. Log in as a user of its own.', {
      cause,
    });
  }
  return {
    platform: process.platform,
    uid: facts.uid,
    user: facts.username,
    userHome: facts.homedir,
    node: realpathSync(process.execPath),
    program: realpathSync(process.argv[1] ?? ''),
    root: '/',
  };
}
