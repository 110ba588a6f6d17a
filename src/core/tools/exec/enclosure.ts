import { seesPrivate, weakest } from '../../security/access/access.ts';
import { sentences } from '../../util/text.ts';
import type { ToolContext } from '../tool.ts';
import type { ExecOptions } from './options.ts';
import { findProgram } from '../../security/enclosure/enclosure.ts';
import type { ProgramCall } from './run.ts';
import type { ExecParams } from './spec.ts';
import type { Reach } from './taint.ts';

/** Where enclosed commands find programs: only there is anything to be seen. */
export const INSIDE_PATH = '/usr/local/bin:/usr/bin:/bin';

/** What encloses a command, how far it reaches, and the program that runs it so. */
export class Enclosure {
  readonly #options: Pick<ExecOptions, 'mode' | 'sandbox' | 'network' | 'workspace' | 'environment'>;

  constructor(options: Pick<ExecOptions, 'mode' | 'sandbox' | 'network' | 'workspace' | 'environment'>) {
    this.#options = options;
  }

  /** Null: enclosed. Otherwise why nothing will enclose it. */
  async reasonToLeave({ outside }: ExecParams): Promise<string | null> {
    const { mode, sandbox } = this.#options;
    if (mode === 'full') return 'Nothing encloses commands in the mode full (tools.exec.mode).';
    if (sandbox === null)
      return 'The sandbox is switched off (tools.exec.sandbox), so each command needs your approval.';
    const probe = await sandbox.probe();
    if (!probe.available) {
      const { reason, remedy } = probe;
      const why = remedy === undefined ? reason : `To change that: ${remedy}`;
      return sentences('There is no sandbox, so each command needs your approval', why);
    }
    return outside === true ? 'The command is to run outside the sandbox, so it needs your approval.' : null;
  }

  /** Null: no one has to be asked. */
  async whyAsk(params: ExecParams): Promise<string | null> {
    const { mode } = this.#options;
    if (mode === 'full') return null;
    if (mode === 'ask') return 'Every command needs your approval (tools.exec.mode is ask).';
    const outside = await this.reasonToLeave(params);
    if (outside !== null) return outside;
    return params.network === true && !this.#options.network ? 'It wants to reach the network.' : null;
  }

  /** How far it reaches as it will run. */
  async reachOf(params: ExecParams): Promise<Reach> {
    if ((await this.reasonToLeave(params)) !== null) return 'anywhere';
    return this.#options.network || params.network === true ? 'network' : 'workspace';
  }

  /** What runs it, with the environment that it may see. */
  async program(params: ExecParams, folder: string, context: ToolContext): Promise<ProgramCall> {
    const { sandbox, workspace, environment } = this.#options;
    const env = { ...environment, ...context.limits.skills.env };
    const outside = await this.reasonToLeave(params);
    if (outside !== null || sandbox === null) {
      const shell = findProgram('bash', env['PATH'] ?? '') ?? '/bin/sh';
      return {
        command: [shell, '-c', params.command, 'bash'],
        environment: { ...env, HOME: environment['HOME'] ?? workspace },
        engine: null,
        mounts: [],
        network: true,
      };
    }
    const enclosure = await sandbox.enclose({
      cwd: folder,
      // Where others read along nothing shows what is the owner's alone.
      role: seesPrivate(context.person) ? 'owner' : weakest(context.person.role, 'trusted'),
      network: this.#options.network || params.network === true,
      readRoots: [...context.files.readRoots, ...(context.files.roots ?? [])],
    });
    return {
      command: ['/bin/bash', '-c', params.command],
      environment: { ...env, PATH: INSIDE_PATH, HOME: workspace },
      ...enclosure,
    };
  }
}
