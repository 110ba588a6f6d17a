import { lstatSync } from 'node:fs';
import { SAY_BUTTON, type Button } from '../bus/messages.ts';
import type { App } from '../app.ts';
import { addPins, pinOf, readPins, shownKey, shownPin, type SkillPins } from './pins.ts';
import type { Skill } from './skill.ts';
import { shownDescription } from './skills-index.ts';
import { errorMessage } from '../util/errors.ts';
import { fenced, plural } from '../util/text.ts';

/** Lets a clone or an editor finish, so that skills that arrive together are told together. */
const SETTLE_MS = 10_000;
/** Up to so many skills have a message each, with a button. */
const MOST_SINGLE = 5;
/** Descriptions in one message about many skills. */
const MOST_DESCRIBED = 20;
/** Telegram's limit for the id of a button. */
const LONGEST_BUTTON_BYTES = 64;

/**
 * Tells the owner once of each skill that appears in the workspace, with the description that the model reads in every
 * prompt, and again when that description changes. Skills that were shown before they were installed aren't told. Trials of
 * skills and terminals without a gateway send nothing to chat platforms.
 */
export class SkillNews implements Disposable {
  readonly #app: App;
  /** False: this is the home's first start, so the owner isn't told of skills that were there before. */
  readonly #isUsed: boolean;
  #seen: readonly Skill[] | undefined;
  #timer: Disposable | undefined;
  #isClosed = false;

  constructor(app: App) {
    this.#app = app;
    this.#isUsed = app.people.ownersChat() !== undefined;
  }

  /** To be called with the skills of each turn; the same array costs nothing. */
  look(skills: readonly Skill[]): void {
    if (skills === this.#seen || this.#isClosed) return;
    this.#seen = skills;
    const { clock, log, paths } = this.#app;
    const news = newsIn(skills, readPins(paths.skillPins).pins);
    const given = this.#isUsed ? [] : news.filter((skill) => this.#wasThere(skill));
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
    const { log, paths } = this.#app;
    const skills = await this.#app.skills.read();
    const { pins } = readPins(paths.skillPins);
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
    const { skills, disabled } = await this.#app.skills.survey();
    const present = new Set([...skills, ...disabled].map(({ name }) => shownKey(name)));
    await addPins(
      this.#app.paths.skillPins,
      new Map(shown.map((skill) => [shownKey(skill.name), shownPin(skill)])),
      (key) => key.startsWith(shownKey('')) && !present.has(key),
    );
  }

  async #send(told: readonly Skill[], pins: SkillPins): Promise<boolean> {
    if (told.length > MOST_SINGLE) {
      const id = pinOf(Buffer.from(told.map(shownPin).join()));
      return await this.#queue(`skills-new:${id}`, listText(told));
    }
    for (const skill of told) {
      const words = `/skills off ${skill.name}`;
      const id = `${SAY_BUTTON}${words}`;
      const button = Buffer.byteLength(id) <= LONGEST_BUTTON_BYTES ? { id, label: 'Switch it off' } : undefined;
      const text = oneText(skill, { words, isKnown: pins.has(shownKey(skill.name)) });
      if (!(await this.#queue(`skill-new:${skill.name}:${shownPin(skill)}`, text, button))) return false;
    }
    return true;
  }

  async #queue(id: string, text: string, button?: Button): Promise<boolean> {
    const { people, serving, notices } = this.#app;
    const mayTell = serving || people.ownersChat()?.channel === 'terminal';
    return mayTell && (await notices.queue(id, text, button));
  }

  /** Whether the file is older than this start. Unpacking and copying can set a file's other times, but not this one. */
  #wasThere({ file }: Skill): boolean {
    return (lstatSync(file, { throwIfNoEntry: false })?.ctimeMs ?? 0) < this.#app.startedAt;
  }
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
