import { enabledChannels } from '../config/channels.ts';
import type { LoadedConfig } from '../config/load.ts';
import { kindOf } from '../program.ts';
import { configuredOwners } from '../security/access/access.ts';
import type { ChatAddress } from '../tools/tool.ts';

/** The direct chat of an owner by the configuration alone, for when the journal cannot say it; undefined: it names none. */
export function configuredOwnersChat(looked: Pick<LoadedConfig, 'config' | 'program'>): ChatAddress | undefined {
  for (const [name, settings] of Object.entries(enabledChannels(looked))) {
    const [owner] =
      kindOf(looked.program, settings.kind ?? name)?.ids?.isChat === true ? configuredOwners(settings) : [];
    if (owner !== undefined) return { channel: name, chatId: owner };
  }
  return undefined;
}
