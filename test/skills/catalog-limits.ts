import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSkillsWorld, ordinary } from './skills-world.ts';

/** The limits of a catalog, with as many folders and skills as it takes: the program's own, or smaller ones that are set. */
export function limitTests(
  { folders, skills }: { readonly folders: number; readonly skills: number },
  { set }: { readonly set: boolean },
): void {
  test(`at most ${folders} folders of a root are looked at, and a warning says so`, async () => {
    await using world = await openSkillsWorld();
    await world.skill('workspace/first', ordinary('first'));
    // The root itself is one of them.
    for (let n = 2; n < folders; n += 1) mkdirSync(join(world.workspace, `group-${n}`));
    const catalog = world.open(set ? { most: { folders } } : {});
    expect((await catalog.survey()).warnings).toEqual([]);
    mkdirSync(join(world.workspace, 'group-of-one-too-many'));
    const { warnings } = await catalog.survey();
    expect(warnings).toEqual([expect.stringContaining(`has over ${folders} folders; the rest is not read.`)]);
  });

  test(`at most ${skills} skills are read, which are looked at again in a blink`, async () => {
    await using world = await openSkillsWorld();
    for (let n = 0; n < skills + 10; n += 1) {
      mkdirSync(join(world.workspace, `s${n}`), { recursive: true });
      writeFileSync(join(world.workspace, `s${n}/SKILL.md`), `---\n${ordinary(`s${n}`)}\n---\nDo it.\n`);
    }
    const catalog = world.open(set ? { most: { skills } } : {});
    const survey = await catalog.survey();
    expect(survey.skills).toHaveLength(skills);
    expect(survey.warnings).toEqual([
      `There are too many skills: at most ${skills} skills of together 48 MB are read, 10 are left out.`,
    ]);
    const start = performance.now();
    await catalog.read();
    expect(performance.now() - start).toBeLessThan(500);
  });
}
