import type { Program } from '../../core/program.ts';
import type { HookSet } from '../../core/agent/hooks/hooks.ts';
import type { Environment } from '../../core/config/environment.ts';
import type { Config } from '../../core/config/schema.ts';
import type { CannedAnswer } from '../../core/skills/cases.ts';
import type { Skill } from '../../core/skills/skill.ts';
import type { Tool } from '../../core/tools/tool.ts';
import { deadline, type Clock } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';
import { silentLog, type Logger } from '../../core/util/log.ts';
import { nearest } from '../../core/util/text.ts';
import type { Usage } from '../../core/util/token-usage.ts';
import { openTrialHome, type TrialHomeOptions } from './trial-home.ts';
import { trialTool } from './trial-tools.ts';
import { watch, type TrialCall } from './watch.ts';

/** What one prompt led to. */
export interface Trial {
  readonly answer: string;
  /** The turn ended without an answer: it failed or was stopped. */
  readonly failed: boolean;
  /** The text of the skill reached the model. */
  readonly activated: boolean;
  readonly calls: readonly TrialCall[];
  /** Model calls. */
  readonly requests: number;
  readonly usage: Usage;
  /** Null when the price of the model is unknown. */
  readonly costUsd: number | null;
  readonly model: string | null;
  /** Files of the workspace that were left out of its copy, because they are too many or too large. */
  readonly leftOut: number;
}

/** What a trial takes of the process. */
export interface TrialOptions {
  readonly program: Program;
  readonly env: Environment;
  readonly clock: Clock;
  /** Ends the trial. */
  readonly signal: AbortSignal;
  /** `createAssistant` of `app.ts`. */
  readonly start: (settings: {
    readonly home: string;
    readonly config: Readonly<Record<string, unknown>>;
    readonly environment: Environment;
    readonly clock: Clock;
    readonly log: Logger;
    readonly rehearsal: true;
    readonly hooks: readonly HookSet[];
    readonly wrapTool: (tool: Tool) => Tool;
  }) => Promise<
    AsyncDisposable & {
      run(
        text: string,
        options: { readonly session: string; readonly signal: AbortSignal },
      ): Promise<{
        readonly outcome: string;
        readonly text: string;
        readonly isError: boolean;
        readonly model: string | null;
        readonly usage: Usage;
        readonly costUsd: number | null;
      }>;
    }
  >;
}

export interface TrialPlan {
  readonly skill: Skill;
  /** False: as if the skill did not exist. */
  readonly withSkill: boolean;
  readonly prompt: string;
  readonly files: Readonly<Record<string, string>>;
  readonly answers: readonly CannedAnswer[];
  /** Tools that must exist, by the case that names them. */
  readonly named: readonly { readonly tool: string; readonly by: string }[];
  /** The configuration of the real home. */
  readonly config: Config;
  /** `provider/model`. @default the configured one */
  readonly model: string | undefined;
  readonly real: TrialHomeOptions['real'];
  readonly workspace: TrialHomeOptions['workspace'];
  readonly limits: TrialLimits;
}

export interface TrialLimits {
  /** Model calls. */
  readonly steps: number;
  readonly usd: number;
  readonly minutes: number;
}

/**
 * Runs one prompt in a home of its own that is removed afterwards, with the configured model. Nothing outside is changed
 * or asked but the model. Throws an error of one sentence when it cannot start, and `unknown-tool` for a named tool that
 * does not exist.
 */
export async function runTrial(plan: TrialPlan, options: TrialOptions): Promise<Trial> {
  const { skill, withSkill, limits } = plan;
  const { program, env, clock } = options;
  const isBrought = withSkill && (plan.workspace === 'new' ? skill.source !== 'package' : skill.source === 'user');
  await using home = await openTrialHome({ program, env, clock, ...plan, skill: isBrought ? skill : null });
  const seen = watch(skill);
  const tools = new Set<string>();
  await using assistant = await options.start({
    home: home.paths.home,
    config: trialConfig(plan),
    environment: env,
    clock,
    log: silentLog,
    rehearsal: true,
    hooks: [{ owner: 'trial', hooks: seen.hooks }],
    wrapTool: (tool) => {
      tools.add(tool.name);
      return trialTool(tool, plan.answers);
    },
  });
  requireTools(plan.named, [...tools]);
  using limit = deadline(clock, limits.minutes * 60_000, 'the trial');
  const signal = AbortSignal.any([options.signal, limit.signal]);
  const ended = await assistant.run(plan.prompt, { session: 'trial', signal });
  options.signal.throwIfAborted();
  const { text, isError, outcome, model, usage, costUsd } = ended;
  const place = (words: string): string => words.replaceAll(home.paths.workspace, 'workspace');
  return {
    answer: place(text),
    failed: isError || outcome === 'failed' || outcome === 'stopped',
    activated: withSkill && (seen.activated() || (skill.always && skill.missing.length === 0)),
    calls: seen.calls().map((call) => ({ ...call, output: place(call.output) })),
    requests: seen.requests(),
    usage,
    costUsd: seen.requests() === 0 ? 0 : costUsd,
    model,
    leftOut: home.left,
  };
}

/** The configuration of the real home, within the limits, with the skill on or off and nothing that answers in its place. */
function trialConfig({ config, skill, withSkill, model, limits }: TrialPlan): Readonly<Record<string, unknown>> {
  const { agent, skills } = config;
  const others = skills.disabled.filter((name) => name !== skill.name);
  const entry = skills.entries[skill.name];
  return {
    ...config,
    agent: {
      ...agent,
      ...(model === undefined ? {} : { model }),
      fallbacks: [],
      maxIterations: Math.min(agent.maxIterations, limits.steps),
      turnTimeoutMinutes: Math.min(agent.turnTimeoutMinutes, limits.minutes),
      debounceMs: 0,
      budget: { ...agent.budget, turnUsd: Math.min(agent.budget.turnUsd ?? limits.usd, limits.usd) },
    },
    skills: {
      ...skills,
      disabled: withSkill ? others : [...others, skill.name],
      entries:
        entry === undefined ? skills.entries : { ...skills.entries, [skill.name]: { ...entry, enabled: withSkill } },
    },
  };
}

function requireTools(named: TrialPlan['named'], tools: readonly string[]): void {
  const unknown = named.find(({ tool }) => !tools.includes(tool));
  if (unknown === undefined) return;
  const guess = nearest(unknown.tool, tools);
  const hint = guess === undefined ? `There are: ${tools.toSorted().join(', ')}.` : `Did you mean ${guess}?`;
  throw new AppError(
    'unknown-tool',
    `The case ${JSON.stringify(unknown.by)} names the tool ${JSON.stringify(unknown.tool)}, which a trial does not have. ${hint} Of MCP servers it has the tools that you agreed to, of plugins none.`,
  );
}
