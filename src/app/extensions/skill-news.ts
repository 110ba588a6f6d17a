import { lstatSync } from 'node:fs';
import { outboundTo } from '../../agent/outgoing.ts';
import type { MessageBus } from '../../bus/bus.ts';
import { SAY_BUTTON, type Button } from '../../bus/messages.ts';
import type { Journal } from '../../journal/journal.ts';
import type { SkillCatalog } from '../../skills/catalog.ts';
import { addPins, pinOf, readPins, shownKey, shownPin, type SkillPins } from '../../skills/pins.ts';
import type { Skill } from '../../skills/skill.ts';
import { shownDescription } from '../../skills/skills-index.ts';
import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { fenced, plural } from '../../util/text.ts';
import type { Base } from '../base.ts';

/** Lets a clone or an editor finish, so that skills that arrive together are told together. */
const SETTLE_MS = 10_000;
/** Up to so many skills have a message each, with a button. */
const MOST_SINGLE = 5;
/** Descriptions in one message about many skills. */
const MOST_DESCRIBED = 20;
/** Telegram's limit for the id of a button. */
const LONGEST_BUTTON_BYTES = 64;

export interface SkillNewsPorts {
  readonly catalog: Pick<SkillCatalog, 'read' | 'survey'>;
  /** The file with what a person was shown. */
  readonly pins: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** False: this is the home's first start, so the owner isn't told of skills that were there before. */
  readonly isUsed: boolean;
  /** Queues a message to the owner. False: nobody knows yet where to tell them. */
  readonly tell: (id: string, text: string, button?: Button) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Tells the owner once of each skill that appears in the workspace, with the description that the model reads in every
 * prompt, and again when that description changes. Skills that were shown before they were installed aren't told.
 */
export class SkillNews implements Disposable {
  readonly #ports: SkillNewsPorts;
  #seen: readonly Skill[] | undefined;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(ports: SkillNewsPorts) {
    this.#ports = ports;
  }

  /** To be called with the skills of each turn; the same array costs nothing. */
  look(skills: readonly Skill[]): void {
    if (skills === this.#seen || this.#isClosed) return;
    this.#seen = skills;
    const { clock, isUsed, log, pins: file } = this.#ports;
    const news = newsIn(skills, readPins(file).pins);
    const given = isUsed ? [] : news.filter((skill) => this.#wasThere(skill));
    const failed = (error: unknown): void => {
      this.#seen = undefined;
      log.warn('skills: the owner could not be told of new ones', { reason: errorMessage(error) });
    };
    if (given.length > 0) this.#record(given).catch(failed);
    if (news.length === given.length) return;
    this.#timer ??= clock.timer(SETTLE_MS, () => {
      this.#timer = undefined;
      this.#tell().catch(failed);
    });
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
  }

  async #tell(): Promise<void> {
    const { catalog, log, pins: file } = this.#ports;
    const skills = await catalog.read();
    const { pins } = readPins(file);
    const news = newsIn(skills, pins);
    if (news.length === 0) return;
    if (!(await this.#send(news, pins))) {
      // There is an owner's chat as soon as an owner writes, which begins a turn.
      this.#seen = undefined;
      return;
    }
    log.info('skills: new in the workspace', { names: news.map(({ name }) => name).join(', ') });
    await this.#record(news);
  }

  async #record(shown: readonly Skill[]): Promise<void> {
    const { skills, disabled } = await this.#ports.catalog.survey();
    const present = new Set([...skills, ...disabled].map(({ name }) => shownKey(name)));
    await addPins(
      this.#ports.pins,
      new Map(shown.map((skill) => [shownKey(skill.name), shownPin(skill)])),
      (key) => key.startsWith(shownKey('')) && !present.has(key),
    );
  }

  async #send(told: readonly Skill[], pins: SkillPins): Promise<boolean> {
    if (told.length > MOST_SINGLE) {
      const id = pinOf(Buffer.from(told.map(shownPin).join()));
      return await this.#ports.tell(`skills-new:${id}`, listText(told));
    }
    for (const skill of told) {
      const words = `/skills off ${skill.name}`;
      const id = `${SAY_BUTTON}${words}`;
      const button = Buffer.byteLength(id) <= LONGEST_BUTTON_BYTES ? { id, label: 'Switch it off' } : undefined;
      const text = oneText(skill, { words, isKnown: pins.has(shownKey(skill.name)) });
      if (!(await this.#ports.tell(`skill-new:${skill.name}:${shownPin(skill)}`, text, button))) return false;
    }
    return true;
  }

  /** Whether the file is older than this start. Unpacking and copying can set a file's other times, but not this one. */
  #wasThere({ file }: Skill): boolean {
    return (lstatSync(file, { throwIfNoEntry: false })?.ctimeMs ?? 0) < this.#ports.startedAt;
  }
}

/** The news of a home. Trials of skills and terminals without a gateway send nothing to chat platforms. */
export function createSkillNews(
  base: Base,
  { journal, bus, catalog }: { readonly journal: Journal; readonly bus: MessageBus; readonly catalog: SkillCatalog },
): SkillNews {
  const { paths, clock, log, redact, startedAt } = base;
  return new SkillNews({
    catalog,
    pins: paths.skillPins,
    startedAt,
    isUsed: journal.questions.ownersChat() !== undefined,
    tell: async (id, text, button) => {
      const chat = journal.questions.ownersChat();
      if (chat === undefined || !(base.serving || chat.channel === 'terminal')) return false;
      const notice = outboundTo(chat, { id, kind: 'notice', text: redact(text) }, clock.now());
      await bus.publishOutbound({ ...notice, ...(button === undefined ? {} : { buttons: [[button]] }) });
      return true;
    },
    clock,
    log,
  });
}

/** Skills of the workspace by others that the owner has not been shown as they are. */
function newsIn(skills: readonly Skill[], pins: SkillPins): readonly Skill[] {
  return skills.filter(
    (skill) => skill.source === 'workspace' && skill.foreign && pins.get(shownKey(skill.name)) !== shownPin(skill),
  );
}

function oneText(
  { name, description }: Skill,
  { words, isKnown }: { readonly words: string; readonly isKnown: boolean },
): string {
  const what = isKnown
    ? `The skill **${name}** has a new description, which I now read in every conversation:`
    : `There is a new skill in \`skills/\`, and I use it from now on: **${name}**. I read its description in every conversation:`;
  return [what, fenced(shownDescription(description)), `If you don't want it, switch it off: \`${words}\``].join(
    '\n\n',
  );
}

function listText(skills: readonly Skill[]): string {
  const left = skills.length - MOST_DESCRIBED;
  return [
    `There are ${plural(skills.length, 'new skill')} in \`skills/\`, and I use them from now on. I read their descriptions in every conversation:`,
    ...skills
      .slice(0, MOST_DESCRIBED)
      .map(({ name, description }) => `**${name}**\n${fenced(shownDescription(description))}`),
    ...(left > 0 ? [`And ${left} more: \`/skills\` lists them all.`] : []),
    "If you don't want one, switch it off: `/skills off NAME`",
  ].join('\n\n');
}
