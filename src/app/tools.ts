import { execEnvironment } from '../config/environment.ts';
import { PathGuard } from '../security/paths.ts';
import { builtinTools } from '../tools/builtin.ts';
import { ToolRegistry } from '../tools/registry.ts';
import type { Base } from './base.ts';
import type { Stores } from './stores.ts';

export interface Tools {
  readonly registry: ToolRegistry;
  readonly guard: PathGuard;
}

/** The registry with the tools that come with the assistant, and what they work through. */
export function createTools({ config, paths, env, redact, clock }: Base, { spill, changes, memory }: Stores): Tools {
  const { tools, agent } = config;
  const maxOutput = agent.toolResultChars;
  const registry = new ToolRegistry({
    policy: tools,
    clock,
    redact,
    maxOutput,
    spill: ({ sessionKey, callId }, output) => spill.put(sessionKey, callId, output),
  });
  const guard = new PathGuard({
    workspace: paths.workspace,
    home: paths.home,
    readRoots: tools.readRoots,
    restrictToWorkspace: tools.restrictToWorkspace,
  });
  const environment = execEnvironment(env, tools.exec.allowEnv);
  const exec = { ...tools.exec, workspace: paths.workspace, environment };
  for (const tool of builtinTools({ guard, changes, maxOutput, clock, exec, memory })) registry.register(tool);
  return { registry, guard };
}
