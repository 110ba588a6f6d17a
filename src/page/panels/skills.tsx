import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { uploadFile } from '../chat/attachments.ts';
import { operation, sentenceOf } from '../net/http.ts';
import type { SkillFacts, SkillOffer } from '../../core/gateway/operations/skills.ts';
import { Action } from '../parts/action.tsx';
import { useLoaded } from '../parts/loaded.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { changes } from '../state/app.ts';
import { bytes, plural } from '../text/figures.ts';
import { shown } from '../text/shown.ts';
import { droppedFolder, zipOfChosen, zipOfEntry } from './skill-folder.ts';

/** What the assistant has learned to do from skill folders. */
export function Skills(): VNode {
  const { value, problem, again } = useLoaded(() => operation('skillsList', {}), [changes('skills').value]);
  const usable = value?.filter(({ enabled, missing }) => enabled && missing.length === 0).length ?? 0;
  return (
    <div class="column">
      <p class="lead">Instructions that the assistant reads when a task needs them.</p>
      <AddSkill added={again} />
      {problem === undefined ? null : <Problem text={problem} again={again} />}
      {value === undefined && problem === undefined ? <Loading /> : null}
      {value?.length === 0 ? <Empty>There are no skills yet.</Empty> : null}
      {value === undefined || value.length === 0 ? null : (
        <h2>{`${plural(value.length, 'skill')}, ${usable} ready`}</h2>
      )}
      <ul class="cards">
        {value?.map((skill) => (
          <Skill key={`${skill.source}/${skill.name}`} skill={skill} changed={again} />
        ))}
      </ul>
    </div>
  );
}

function Skill({ skill, changed }: { readonly skill: SkillFacts; readonly changed: () => void }): VNode {
  const { name, description, source, enabled, found, missing, warnings } = skill;
  const set = async (): Promise<void> => {
    await operation('skillsSet', { name, enabled: !enabled });
    changed();
  };
  const remove = async (): Promise<void> => {
    await operation('skillsRemove', { name });
    changed();
  };
  return (
    <li class={enabled ? '' : 'off'}>
      <div class="row">
        <h3>{shown(name)}</h3>
        <span class="faint">
          {!enabled ? (found ? 'found, not agreed to' : 'off') : missing.length > 0 ? 'needs something' : 'ready'}
        </span>
      </div>
      <p>{shown(description)}</p>
      {warnings.map((warning) => (
        <p key={warning} class="bad">
          {shown(warning)}
        </p>
      ))}
      {missing.length === 0 ? null : (
        <ul class="needs">
          {missing.map(({ what, how }) => (
            <li key={what}>
              {shown(what)}
              {how === null ? null : (
                <>
                  {': '}
                  <code>{shown(how)}</code>
                </>
              )}
            </li>
          ))}
        </ul>
      )}
      <p class="buttons">
        <Action class="quiet" run={set} label={`${enabled ? 'Switch off' : 'Switch on'} ${name}`}>
          {enabled ? 'Switch off' : 'Switch on'}
        </Action>
        {source === 'workspace' ? (
          <Action class="quiet" sure="Remove it?" run={remove} label={`Remove ${name}`}>
            Remove
          </Action>
        ) : null}
      </p>
    </li>
  );
}

interface Offered {
  readonly upload: string;
  readonly offer: SkillOffer;
}

/** Takes a skill folder or a zip of one, shows what is risky in it, and installs it after a yes. */
function AddSkill({ added }: { readonly added: () => void }): VNode {
  const [offered, show] = useState<Offered>();
  const [said, say] = useState('');
  const [problem, complain] = useState('');
  const [isOver, over] = useState(false);
  const take = async (name: string, read: () => File | Promise<File>): Promise<void> => {
    complain('');
    say(`Reading ${name} …`);
    try {
      const file = await read();
      const { upload } = await uploadFile(file, file.name);
      show({ upload, offer: await operation('skillsInstall', { upload }) });
      say('');
    } catch (error) {
      say('');
      complain(sentenceOf(error));
    }
  };
  const drop = ({ items, files: [file] }: DataTransfer): void => {
    const folder = droppedFolder(items);
    if (folder !== undefined) void take(folder.name, () => zipOfEntry(folder));
    else if (file !== undefined) void take(file.name, () => file);
  };
  const install = async ({ upload, offer }: Offered): Promise<void> => {
    await operation('skillsInstall', { upload, confirm: offer.hash, ...(offer.replaces ? { replace: true } : {}) });
    show(undefined);
    say(`${offer.name} is installed.`);
    added();
  };
  return (
    <section aria-label="Add a skill">
      <div
        class={`zone${isOver ? ' over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          over(true);
        }}
        onDragLeave={() => over(false)}
        onDrop={(event) => {
          event.preventDefault();
          over(false);
          if (event.dataTransfer !== null) drop(event.dataTransfer);
        }}
      >
        Drop a skill folder or a zip of one here, or choose{' '}
        <label>
          <span class="link">a folder</span>
          <input
            ref={(input) => input?.setAttribute('webkitdirectory', '')}
            class="unseen"
            type="file"
            onChange={(event) => {
              const files = Array.from(event.currentTarget.files ?? []);
              if (files.length > 0) void take('the folder', () => zipOfChosen(files));
              event.currentTarget.value = '';
            }}
          />
        </label>{' '}
        or{' '}
        <label>
          <span class="link">a zip</span>
          <input
            class="unseen"
            type="file"
            accept=".zip,application/zip"
            onChange={(event) => {
              const file = event.currentTarget.files?.[0];
              if (file !== undefined) void take(file.name, () => file);
              event.currentTarget.value = '';
            }}
          />
        </label>
      </div>
      <p class="faint" role="status">
        {shown(said)}
      </p>
      {problem === '' ? null : <Problem text={problem} />}
      {offered === undefined ? null : (
        <Offer offer={offered.offer} install={() => install(offered)} refuse={() => show(undefined)} />
      )}
    </section>
  );
}

function Offer({
  offer,
  install,
  refuse,
}: {
  readonly offer: SkillOffer;
  readonly install: () => Promise<void>;
  readonly refuse: () => void;
}): VNode {
  const { name, description, files, risks, warnings, replaces } = offer;
  return (
    <div class="offer">
      <h2>{`Install ${shown(name)}?`}</h2>
      <p>{shown(description)}</p>
      {replaces ? <p class="bad">It takes the place of the skill of this name that is there.</p> : null}
      {warnings.map((warning) => (
        <p key={warning} class="bad">
          {shown(warning)}
        </p>
      ))}
      <details class="step">
        <summary>{plural(files.length, 'file')}</summary>
        <ul class="inside">
          {files.map(({ path, size, executable }) => (
            <li key={path}>
              <code>{shown(path)}</code>{' '}
              <span class="faint">{`${bytes(size)}${executable ? ', can be run' : ''}`}</span>
            </li>
          ))}
        </ul>
      </details>
      {risks.length === 0 ? (
        <p class="faint">Nothing risky was found in it. Install only what you trust.</p>
      ) : (
        <>
          <p>{`Look at ${plural(risks.length, 'place')} before you say yes:`}</p>
          <ul class="needs">
            {risks.map(({ title, where, line }, at) => (
              <li key={at}>
                {shown(title)} <span class="faint">{shown(where)}</span>
                <pre class="boxed" tabIndex={0}>
                  {shown(line)}
                </pre>
              </li>
            ))}
          </ul>
        </>
      )}
      <p class="buttons">
        <Action class="main" run={install}>
          Install
        </Action>
        <button type="button" onClick={refuse}>
          Do not install
        </button>
      </p>
    </div>
  );
}
