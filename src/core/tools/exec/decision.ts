import { resolve } from 'node:path';
import { guardCommand, type CommandDecision } from '../../security/commands/guard.ts';
import { readHostList } from '../../security/fetch/host-list.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { sentences } from '../../util/text.ts';
import type { ApprovalRequest, DeclaredAction, ToolContext, ToolDecision } from '../tool.ts';
import { INSIDE_PATH, type Enclosure } from './enclosure.ts';
import { findFolder, folderOf } from './folder.ts';
import type { ExecOptions } from './options.ts';
import {
  isListed,
  profileOf,
  repositoryOf,
  rememberableCommandOf,
  type CommandProfile,
  type RememberableCommand,
} from './remembered-commands.ts';
import type { ExecParams } from './spec.ts';
import type { Reach } from './taint.ts';

/** Whether a command may run, and what a person is asked about it. */
export class ExecDecisions {
  readonly #options: ExecOptions;
  readonly #enclosure: Enclosure;
  readonly #opened: ReturnType<typeof readHostList>;

  constructor(options: ExecOptions, enclosure: Enclosure) {
    this.#options = options;
    this.#enclosure = enclosure;
    this.#opened = readHostList('allowHosts', options.allowHosts ?? []);
  }

  async decide(params: ExecParams, context: ToolContext): Promise<ToolDecision> {
    const { mode, workspace } = this.#options;
    const { command, cwd } = params;
    if (mode === 'off') return deny('Running commands is switched off in the configuration (tools.exec.mode).');
    if (command.includes('\0')) return deny('A command cannot contain NUL characters.');
    if (params.background === true && this.#options.background === undefined) {
      return deny('Nothing can be left running in the background here; run it without background: true.');
    }
    const guarded = this.check(command, await this.#enclosure.reachOf(params), cwd);
    if (guarded.decision === 'deny') return guarded;
    const place = await findFolder(workspace, cwd);
    if ('problem' in place) return deny(place.problem);
    const reasons = [guarded.decision === 'ask' ? guarded.reason : null, await this.#enclosure.whyAsk(params)];
    const reason = sentences(...reasons.filter((why) => why !== null));
    if (reason === '') return { decision: 'allow' };
    const ask = (why: string, always: Pick<ApprovalRequest, 'always'> = {}): ToolDecision => ({
      decision: 'ask',
      reason: why,
      request: { ...requestFor(params), reason: why, ...always },
    });
    // While strangers have a say nothing is allowed for good, and nothing that was counts.
    const exact = context.conversation.taint.untrusted ? null : await this.#rememberable(params, context);
    if (exact === null) return ask(reason);
    const { reads, ...always } = exact;
    const why = this.#whyRememberable(exact);
    if (why === null) return ask(reason, reads === null ? {} : { always });
    if (
      reads !== 'machine' &&
      (await this.#options.origins?.holdsUnder(await repositoryOf(exact.folder, workspace))) === true
    ) {
      return ask(sentences(reason, 'It was allowed for good, but files in its folder hold text from others'));
    }
    return { decision: 'allow', reason: why };
  }

  /** What its words say about it. */
  check(command: string, reach: Reach, cwd = '.'): CommandDecision {
    const { workspace, home, environment } = this.#options;
    return guardCommand(command, {
      reach,
      cwd: resolve(workspace, cwd),
      workspace,
      home,
      userHome: environment['HOME'],
      opened: (target) => this.#opened.has(target),
    });
  }

  /** What a yes is bound to. Throws when its folder is gone. */
  async profile(params: ExecParams, { limits: { skills } }: ToolContext): Promise<CommandProfile> {
    const { mode, workspace, environment } = this.#options;
    return await profileOf(params.command, {
      folder: await folderOf(workspace, params.cwd),
      mode,
      enclosed: (await this.#enclosure.reasonToLeave(params)) === null,
      network: this.#options.network || params.network === true,
      environment: { ...environment, ...skills.env },
      workspace,
    });
  }

  /** The command as it could be allowed for good. */
  async #rememberable(params: ExecParams, context: ToolContext): Promise<RememberableCommand | null> {
    const { workspace, environment } = this.#options;
    const found = await this.profile(params, context);
    const path = found.enclosed ? INSIDE_PATH : (environment['PATH'] ?? '');
    const { command, background = false } = params;
    return await rememberableCommandOf(command, found, { path, workspace, background });
  }

  /** Why a command needs no question; null: it does. */
  #whyRememberable(exact: RememberableCommand): string | null {
    const { allowCommands = [], isRemembered } = this.#options;
    if (isListed(exact, allowCommands)) return 'tools.exec.allowCommands lists it';
    return exact.reads !== null && isRemembered?.(exact.hash) === true ? 'an owner allowed it for good' : null;
  }
}

/** The whole of what will run. */
export function requestFor({ command, cwd, background }: ExecParams): Pick<DeclaredAction, 'title' | 'detail'> {
  const where = cwd === undefined ? '' : `# in ${escapeControlChars(JSON.stringify(cwd))}\n`;
  return {
    title: background === true ? 'Run a command in the background' : 'Run a command',
    detail: where + escapeControlChars(command),
  };
}

function deny(reason: string): ToolDecision {
  return { decision: 'deny', reason };
}
