import { argument, commandRow, flagOption } from '../../core/api-rows.ts';
import { defineExtension } from '../../core/api.ts';
import { browser } from './settings.ts';

/** The tool `browser`: pages with scripts, forms and logins, in a Chromium of the conversation's own. docs/browser.md */
export default defineExtension({
  name: 'browser',
  settings: [browser],
  // Nothing of a browser is loaded where it is not enabled, and its skill would only take room in every prompt.
  isOn: (config) => browser.of(config).enabled,
  bundledSkills: ['browser'],
  open: async (app) => (await import('./open.ts')).openBrowser(app),
  cli: [
    {
      name: 'tools',
      commands: [
        commandRow({
          name: 'install',
          description: 'install what a tool needs beside the program: browser is the only one',
          exits: { 0: 'all that it needs is there', 1: 'something is missing; it is named' },
          arguments: { what: argument('the tool: browser') },
          options: { yes: flagOption('do not ask') },
          examples: ['tools install browser', 'tools install browser --yes'],
          load: async () => (await import('./install.ts')).toolsInstallCommand,
        }),
      ],
    },
  ],
  checks: async () => (await import('./checks.ts')).checks,
});
