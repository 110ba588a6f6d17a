import { join } from 'node:path';
import { BOOTSTRAP_FILES } from '../agent/prompt/layers.ts';
import { KeptText } from '../memory/files/kept-text.ts';
import { reportingDisk } from '../storage/disk.ts';
import type { Ground } from '../assistant/base.ts';

const NAMES = [...BOOTSTRAP_FILES, 'HEARTBEAT.md'] as const;

/** The owner's own files of the workspace, beside the memory: what the assistant is told, and what it looks after. */
export type KeptFiles = Readonly<Record<(typeof NAMES)[number], KeptText>>;

/** Opens the owner's files with their earlier versions. Everything in this process that changes one must use these. */
export function openKeptFiles({
  paths,
  clock,
  log,
  storage,
}: Pick<Ground, 'paths' | 'clock' | 'log' | 'storage'>): KeptFiles {
  const open = (name: (typeof NAMES)[number]): KeptText =>
    new KeptText({
      path: join(paths.workspace, name),
      versions: join(paths.versions, name.replace(/\.md$/u, '').toLowerCase()),
      name,
      clock,
      log,
      disk: reportingDisk(storage),
    });
  return {
    'AGENTS.md': open('AGENTS.md'),
    'SOUL.md': open('SOUL.md'),
    'USER.md': open('USER.md'),
    'TOOLS.md': open('TOOLS.md'),
    'HEARTBEAT.md': open('HEARTBEAT.md'),
  };
}
