import type { App } from '../../app.ts';
import { statSync } from 'node:fs';
import { arch, type } from 'node:os';
import { join } from 'node:path';
import { readIfExists } from '../../storage/files.ts';
import { errorMessage } from '../../util/errors.ts';
import type { WindowSize } from '../context/window-size.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { BOOTSTRAP_FILES, bootstrapFiles, buildSystemPrompt, type PromptLayer } from './layers.ts';

/** Who a prompt is for. The same audience gets the same bytes until a file changes. */
export interface Audience {
  /** Only the owner reads the answer, so the prompt may contain MEMORY.md and USER.md. */
  readonly ownersDirectChat: boolean;
  /** One sentence about the formatting that the channel can show; null when messages come from several channels. */
  readonly shows: string | null;
  /** For heartbeats and subagents: files are cut earlier, without memory and skills. @default false */
  readonly light?: boolean;
  /** How much the model reads at once: files and skills are cut earlier for less. @default 'full' */
  readonly size?: WindowSize;
}

export interface SkillLayers {
  /** Full text of the skills that are always active; null: none. */
  readonly active: string | null;
  /** XML index of the others; null: none. */
  readonly index: string | null;
  /** The same for a small window. */
  readonly shortIndex: string | null;
}

/** A rendered prompt; the same object until its text changes. */
export interface RenderedPrompt {
  readonly layers: readonly PromptLayer[];
  /** The texts of the layers. */
  readonly texts: readonly string[];
}

/** A layer of the prompt that an extension writes. */
export interface PromptLayerSource {
  /** What people call it, e.g. `memory`. */
  readonly name: string;
  /** Another text whenever the layer may be another one; asked before each turn, so it may look at a file and not read it. */
  readonly stamp: () => string;
  /** The layer for these readers; '' where they are shown none. The same text as long as `stamp` is the same: providers cache the prefix. */
  readonly text: (audience: Audience) => string | Promise<string>;
}

/** Renders the system prompt of a workspace. */
export class SystemPrompt {
  readonly #app: App;
  readonly #skills: () => Promise<SkillLayers>;
  /** By audience: the prompt, and the stamp of the files that it was made from. */
  readonly #rendered = new RecentMap<string, { readonly stamp: string; readonly prompt: Promise<RenderedPrompt> }>(32);

  constructor(app: App, skills: () => Promise<SkillLayers>) {
    this.#app = app;
    this.#skills = skills;
  }

  /** The prompt from the current files, which are read again when one of them changed. A missing file is left out. */
  async read(audience: Audience): Promise<RenderedPrompt> {
    const skills = await this.#skills();
    const key = JSON.stringify([
      audience.ownersDirectChat,
      audience.shows,
      audience.light === true,
      audience.size ?? 'full',
    ]);
    const stamp = this.#stamp(skills);
    const known = this.#rendered.get(key);
    if (known?.stamp === stamp) return await known.prompt;
    const prompt = this.#render(audience, skills);
    this.#rendered.set(key, { stamp, prompt });
    try {
      return await prompt;
    } catch (error) {
      this.#rendered.delete(key);
      throw error;
    }
  }

  /** Layers of extensions, behind the files and before the skills. */
  #others(): readonly PromptLayerSource[] {
    return this.#app.plugins.each('prompt').flatMap(([, layers]) => layers);
  }

  #stamp({ active, index }: SkillLayers): string {
    const files = BOOTSTRAP_FILES.map((name) => stampOf(join(this.#app.paths.workspace, name)));
    return [...files, ...this.#others().map(({ stamp }) => stamp()), active, index].join('\n');
  }

  async #render(
    { ownersDirectChat, shows, light = false, size = 'full' }: Audience,
    skills: SkillLayers,
  ): Promise<RenderedPrompt> {
    const { workspace } = this.#app.paths;
    const { restrictToWorkspace, readRoots } = this.#app.config.tools;
    const read = (name: string): Promise<string> => textOf(join(workspace, name));
    const files = await Promise.all(
      bootstrapFiles({ ownersDirectChat }).map(async (name) => ({ name, text: await read(name) })),
    );
    const layers = buildSystemPrompt({
      host: {
        os: `${type()} ${arch()}`,
        runtime: `Node ${process.versions.node}`,
        workspace,
        readRoots: restrictToWorkspace ? readRoots : null,
      },
      shows,
      files,
      light,
      size,
      others: await Promise.all(
        this.#others().map(async ({ name, text }) => ({
          name,
          text: await text({ ownersDirectChat, shows, light, size }),
        })),
      ),
      activeSkills: light ? null : skills.active,
      skillsIndex: light ? null : size === 'full' ? skills.index : skills.shortIndex,
    });
    return { layers, texts: layers.map(({ text }) => text) };
  }
}

/** The text of a file; if it cannot be read, a sentence with the reason, so that the turn does not fail. */
export async function textOf(path: string): Promise<string> {
  try {
    return (await readIfExists(path)) ?? '';
  } catch (error) {
    return `[This file could not be read: ${errorMessage(error)}.]`;
  }
}

/** Another text when the file is another one. */
export function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? '-' : `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`;
}
