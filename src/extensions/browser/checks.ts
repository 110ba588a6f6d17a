import { failed, ok, type Check } from '../../core/api-doctor.ts';
import { browser } from './settings.ts';
import { browserState } from './state.ts';

export const checks: readonly Check[] = [
  {
    id: 'browser.works',
    subject: 'extensions',
    about: 'the tool browser, if it is enabled, has its library, a browser and a sandbox',
    live: true,
    run: async ({ loaded, paths, clock }) => {
      if (loaded === null || !browser.of(loaded.config).enabled) return [];
      const found = await browserState(browser.of(loaded.config), paths, clock);
      return 'works' in found ? [ok(found.works)] : [failed(found.trouble, found.remedy)];
    },
  },
];
