import { enabledChannels } from '../config/channels.ts';
import { findPreset } from '../providers/presets.ts';
import { OWN_ADDRESS } from '../setup/models.ts';
import type { Scene } from './scene.ts';

const PLATFORMS: Readonly<Record<string, string>> = {
  telegram: 'https://api.telegram.org',
  discord: 'https://discord.com/api',
  slack: 'https://slack.com/api',
};

/** The servers that the configuration reaches: of models with a key or an address, then of chat platforms. */
export function serverAddresses({ loaded }: Pick<Scene, 'loaded'>): readonly string[] {
  if (loaded === null) return [];
  const { config } = loaded;
  const models = Object.entries(config.providers).flatMap(([name, { apiKey, baseUrl, kind }]) => {
    if (apiKey === null && baseUrl === null) return [];
    const preset = kind ?? name;
    return [baseUrl ?? findPreset(preset)?.baseUrl ?? OWN_ADDRESS[preset]];
  });
  const platforms = Object.entries(enabledChannels(config)).map(
    ([name, { kind, apiRoot, apiBase, apiUrl }]) => apiRoot ?? apiBase ?? apiUrl ?? PLATFORMS[kind ?? name],
  );
  return [...models, ...platforms]
    .filter((address) => address !== undefined)
    .map((address) => address.replace(/\/+$/u, ''));
}
