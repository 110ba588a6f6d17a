import { kindOf } from '../core/program.ts';
import { enabledChannels } from '../core/config/channels.ts';
import { textIn } from '../core/config/schema/channels.ts';
import type { Scene } from './scene.ts';

/** The servers that the configuration reaches: of models with a key or an address, then of chat platforms. */
export function serverAddresses({ loaded }: Pick<Scene, 'loaded'>): readonly string[] {
  if (loaded === null) return [];
  const { config, program } = loaded;
  const models = Object.entries(config.providers).flatMap(([name, { apiKey, baseUrl, kind }]) => {
    if (apiKey === null && baseUrl === null) return [];
    const preset = program.presets.get(kind ?? name);
    return [baseUrl ?? preset?.baseUrl ?? preset?.ownUrl];
  });
  const platforms = Object.entries(enabledChannels(loaded)).map(([name, settings]) => {
    const address = kindOf(program, settings.kind ?? name)?.address;
    return address === undefined ? undefined : (textIn(settings, address.key) ?? address.usual);
  });
  return [...models, ...platforms]
    .filter((address) => address !== undefined)
    .map((address) => address.replace(/\/+$/u, ''));
}
