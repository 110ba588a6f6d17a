import { enabledChannels } from '../../config/channels.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { configuredOwners } from '../../security/access/access.ts';
import type { ChatAddress } from '../../tools/tool.ts';

/** Platforms on which a person's id is the address of the chat with them. */
const ID_IS_CHAT = new Set(['telegram', 'slack']);

/** The direct chat of an owner by the configuration alone, for when the journal cannot say it; undefined: it names none. */
export function configuredOwnersChat(looked: Pick<LoadedConfig, 'config' | 'program'>): ChatAddress | undefined {
  for (const [name, settings] of Object.entries(enabledChannels(looked))) {
    const [owner] = ID_IS_CHAT.has(settings.kind ?? name) ? configuredOwners(settings) : [];
    if (owner !== undefined) return { channel: name, chatId: owner };
  }
  return undefined;
}
