import type { HomePaths } from '../config/home.ts';
import { execEnvironment, type Environment } from '../config/environment.ts';
import type { Config } from '../config/schema.ts';
import { PathGuard } from '../security/paths.ts';
import type { SpillStore } from '../storage/spill.ts';
import { builtinTools } from '../tools/builtin.ts';
import { ToolRegistry } from '../tools/registry.ts';
import type { Clock } from '../util/clock.ts';

export interface ToolParts {
  readonly paths: HomePaths;
  readonly env: Environment;
  readonly redact: (text: string) => string;
  readonly spill: SpillStore;
  readonly clock: Clock;
}

/** The registry with the tools that come with the assistant. */
export function createTools(config: Config, { paths, env, redact, spill, clock }: ToolParts): ToolRegistry {
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
  for (const tool of builtinTools({ guard, maxOutput, clock, exec })) registry.register(tool);
  return registry;
}
