import { execEnvironment } from '../config/environment.ts';
import { createGuardedFetch } from '../security/fetch/fetch.ts';
import { PathGuard } from '../security/paths/guard.ts';
import { createSandbox, type Sandbox } from '../security/sandbox/sandbox.ts';
import type { SkillCatalog } from '../skills/catalog.ts';
import { builtinTools } from '../tools/registry/builtin.ts';
import type { BackgroundProcesses } from '../tools/exec/background/background-processes.ts';
import { batchTool } from '../tools/batch.ts';
import { withFolders } from '../tools/files/taint.ts';
import { ToolRegistry } from '../tools/registry/registry.ts';
import { STAY_SILENT } from '../tools/stay-silent.ts';
import type { ToolContext } from '../tools/tool.ts';
import type { Base } from './base.ts';
import type { Stores } from './stores.ts';

export interface Tools {
  readonly registry: ToolRegistry;
  readonly guard: PathGuard;
  /** Null where the configuration wants none. */
  readonly sandbox: Sandbox | null;
}

interface ToolParts {
  readonly stores: Stores;
  readonly catalog: Pick<SkillCatalog, 'read'>;
  readonly background: BackgroundProcesses;
  /** A sentence when the channel of a person (`channel:id`) has no owner. */
  readonly ownerless: (who: string) => string | null;
}

/** The registry with the tools that come with the assistant, and what they work through. */
export function createTools(base: Base, { stores, catalog, background, ownerless }: ToolParts): Tools {
  const { journal, spill, media, changes, memory, origins: marks, audit } = stores;
  const { config, paths, env, redact, clock, random } = base;
  const { tools, agent } = config;
  const theirs = async (): Promise<readonly string[]> =>
    (await catalog.read()).flatMap(({ foreign, folder }) => (foreign ? [folder] : []));
  const origins = withFolders(marks, theirs);
  const maxOutput = agent.toolResultChars;
  const keepWhole = (
    { sessionKey, callId }: Pick<ToolContext, 'sessionKey' | 'callId'>,
    output: string,
  ): Promise<string> => spill.put(sessionKey, callId, output);
  const registry = new ToolRegistry({
    // Whom a channel hears may be met with silence.
    policy: { ...tools, allow: [...tools.allow, STAY_SILENT], guest: [...tools.guest, STAY_SILENT] },
    clock,
    redact,
    maxOutput,
    spill: keepWhole,
    audit: audit.record,
    ownerless,
  });
  const guard = new PathGuard({
    workspace: paths.workspace,
    home: paths.home,
    readRoots: tools.readRoots,
    restrictToWorkspace: tools.restrictToWorkspace,
  });
  const environment = execEnvironment(env, tools.exec.allowEnv);
  const sandbox =
    tools.exec.sandbox === 'off' || tools.exec.mode === 'full' || tools.exec.mode === 'off'
      ? null
      : createSandbox({
          home: paths.home,
          workspace: paths.workspace,
          folder: paths.sandbox,
          readRoots: tools.readRoots,
          clock,
          random,
        });
  const { allowHosts } = tools.web;
  const isRemembered = (hash: string): boolean => journal.allowances.has(hash);
  const commands = { ...tools.exec, isRemembered };
  const places = { workspace: paths.workspace, home: paths.home };
  const exec = { ...commands, ...places, sandbox, environment, allowHosts, background };
  const { web } = tools;
  const fetch = createGuardedFetch({ ...web, clock });
  // Only the search reaches the host that the person set for it, which may be private.
  const searched = web.searchUrl === null ? [] : [hostAndPort(web.searchUrl)];
  const searchFetch = createGuardedFetch({ ...web, allowHosts: [...web.allowHosts, ...searched], clock });
  const search = { ...web, fetch: searchFetch };
  const files = { guard, changes, origins, keepImage: (bytes: Uint8Array) => media.keep(bytes) };
  const builtin = builtinTools({ ...files, maxOutput, clock, exec, memory, fetch, search });
  for (const tool of builtin) registry.register(tool);
  registry.register(batchTool({ registry, maxOutput, spill: keepWhole }));
  return { registry, guard, sandbox };
}

function hostAndPort(address: string): string {
  const { hostname, port, protocol } = new URL(address);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
}
