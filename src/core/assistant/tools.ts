import { sentenceOf } from '../util/finding.ts';
import { createGuardedFetch } from '../security/fetch/fetch.ts';
import { PathGuard } from '../security/paths/open-inside.ts';
import { createLanding } from '../landing/landing.ts';
import { createSandbox, PROTECTED_PLACES } from '../security/enclosure/sandbox.ts';
import { batchTool } from '../tools/batch.ts';
import { ToolRegistry, type KeepWhole } from '../tools/registry/registry.ts';
import { STAY_SILENT } from '../tools/stay-silent.ts';
import type { Tool } from '../tools/tool.ts';
import type { App } from '../app.ts';
import { ownerFinding } from '../people/owners.ts';
import { losesMoreThanHalf } from '../memory/files/facts.ts';
import { realFile } from '../memory/files/memory-file.ts';
import type { FileAccess, VersionedFile } from '../files/access.ts';

/** Builds the registry of tools, and the path guard and the sandbox that tools use. `wrapTool`: each tool as it is registered, for a trial. */
export function createTools(
  app: App,
  wrapTool: ((tool: Tool) => Tool) | undefined,
): Pick<App, 'tools' | 'guard' | 'sandbox' | 'landing' | 'files' | 'fetch'> {
  const { journal, spill, media, changes, marks, audit } = app;
  const { config, loaded, paths, redact, clock, random } = app;
  const { tools, agent } = config;
  marks.alsoIn(async () => (await app.skills.read()).flatMap(({ foreign, folder }) => (foreign ? [folder] : [])));
  const maxOutput = agent.toolResultChars;
  const keepWhole: KeepWhole = ({ sessionKey, id }, output) => spill.put(sessionKey, id, output);
  const registry = new ToolRegistry({
    // Every turn may end in silence, even if the configured policy does not allow the tool.
    policy: {
      get allow() {
        return [...config.tools.allow, STAY_SILENT];
      },
      get deny() {
        return config.tools.deny;
      },
      get guest() {
        return [...config.tools.guest, STAY_SILENT];
      },
    },
    clock,
    redact,
    maxOutput,
    wrap: wrapTool,
    spill: keepWhole,
    audit: audit.record,
    ownerless: (who) => {
      const finding = ownerFinding(who.slice(0, Math.max(0, who.indexOf(':'))), {
        config,
        program: loaded.program,
        people: journal.people.list(),
        configPath: loaded.path,
      });
      return finding === null ? null : sentenceOf(finding);
    },
  });
  const guard = new PathGuard({
    paths: loaded.program.paths,
    workspace: paths.workspace,
    home: paths.home,
    host: paths.host,
    readRoots: tools.readRoots,
    restrictToWorkspace: tools.restrictToWorkspace,
  });
  const sandbox =
    tools.exec.sandbox === 'off'
      ? null
      : createSandbox({
          protectedFolders: loaded.program.paths.folders,
          home: paths.home,
          host: paths.host,
          workspace: paths.workspace,
          folder: paths.sandbox,
          readRoots: tools.readRoots,
          clock,
          random,
        });
  const landing = createLanding({
    workspace: paths.workspace,
    home: paths.home,
    journal,
    sandbox,
    protectedPlaces: [...PROTECTED_PLACES, ...loaded.program.paths.folders],
    clock,
    newId: app.newId,
    log: app.log,
  });
  const { web } = tools;
  const fetch = createGuardedFetch({ ...web, clock });
  const files = {
    guard,
    changes,
    marks,
    versioned: versionedFiles(app),
    keepImage: (bytes: Uint8Array) => media.keep(bytes),
  };
  registry.register(batchTool({ registry, maxOutput, spill: keepWhole }));
  return { tools: registry, guard, sandbox, landing, files, fetch };
}

/** MEMORY.md and the owner's other files: each change has a version. */
function versionedFiles({ memory, keptFiles }: App): FileAccess['versioned'] {
  const losesTooMuch = async (after: string): Promise<boolean> => losesMoreThanHalf((await memory.read()).text, after);
  const all: readonly (VersionedFile & { readonly path: string })[] = [
    { path: memory.path, keepPresent: (reason) => memory.keepPresent(reason), losesTooMuch },
    ...Object.values(keptFiles).map((file) => ({
      path: file.path,
      keepPresent: (reason: string) => file.keepPresent(reason),
    })),
  ];
  return async (path) => {
    for (const file of all) if (file.path === path || (await realFile(file.path)) === path) return file;
    return undefined;
  };
}
