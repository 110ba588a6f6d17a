import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import { operation } from '../net/http.ts';
import { Action } from '../parts/action.tsx';
import { useLoaded } from '../parts/loaded.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { changes } from '../state/app.ts';
import { shown } from '../text/shown.ts';

type Pairing = RequestResult<'pairList'>;
type Role = Pairing['people'][number]['role'];

const ROLES: Readonly<Record<Role, string>> = {
  guest: 'Guest: can chat, search the web and read web pages, unless you changed tools.guest',
  trusted: 'Trusted: can also read and change files in the workspace',
  owner: 'Owner: can do everything, including commands and approvals',
};
const NAMES: readonly Role[] = ['guest', 'trusted', 'owner'];

function isRole(text: string): text is Role {
  return Object.hasOwn(ROLES, text);
}

/** Who may write to the assistant on a chat platform. */
export function People(): VNode {
  const { value, problem, again } = useLoaded(() => operation('pairList', {}), [changes('people').value]);
  if (value === undefined) return problem === undefined ? <Loading /> : <Problem text={problem} again={again} />;
  const { people, configured, pending, lockedUntil, hasOwner } = value;
  return (
    <div class="column">
      <p class="lead">
        When someone new writes to the assistant, they get a code and show up here. Pick a role and let them in.
      </p>
      {problem === undefined ? null : <Problem text={problem} again={again} />}
      {hasOwner || pending.length === 0 ? null : (
        <p class="note-bad">No channel has an owner yet. If one of these people is you, let yourself in as owner.</p>
      )}
      {lockedUntil === null ? null : (
        <p class="note-bad">
          Too many wrong codes. Codes are accepted again <Time at={lockedUntil} />.
        </p>
      )}
      <h2>Waiting</h2>
      {pending.length === 0 ? <Empty>Nobody is waiting.</Empty> : null}
      <ul class="cards">
        {pending.map((one) => (
          <Pending key={one.code} one={one} changed={again} />
        ))}
      </ul>
      <h2>Let in</h2>
      {people.length + configured.length === 0 ? <Empty>Nobody has been let in yet.</Empty> : null}
      <ul class="cards">
        {configured.map(({ channel, id, name, role }) => (
          <li key={`${channel}:${id}`}>
            <strong>{shown(name ?? id)}</strong>
            <span class="faint block">
              {shown(channel)} · {role} · set in the configuration
            </span>
          </li>
        ))}
        {people.map((one) => (
          <Person key={`${one.channel}:${one.id}`} one={one} changed={again} />
        ))}
      </ul>
    </div>
  );
}

function Pending({ one, changed }: { readonly one: Pairing['pending'][number]; readonly changed: () => void }): VNode {
  const { channel, id, name, code, expiresAt } = one;
  const [role, choose] = useState<Role | undefined>();
  const approve = async (): Promise<void> => {
    if (role === undefined) throw new Error(`Choose a role for ${name ?? id} first.`);
    await operation('pairApprove', { code, role });
    changed();
  };
  return (
    <li>
      <div class="row wrap">
        <span>
          <strong>{shown(name ?? id)}</strong>
          <span class="faint block">
            {shown(channel)} · {shown(id)} · code <code>{shown(code)}</code> · expires <Time at={expiresAt} />
          </span>
        </span>
        <RoleChoice label={`Role of ${name ?? id}`} role={role} choose={choose} />
        <Action class="main" run={approve} done={`${name ?? id} is let in.`} label={`Let in ${name ?? id}`}>
          Let in
        </Action>
      </div>
    </li>
  );
}

function Person({ one, changed }: { readonly one: Pairing['people'][number]; readonly changed: () => void }): VNode {
  const { channel, id, name, role, addedAt } = one;
  const person = `${channel}:${id}`;
  const [said, say] = useState('');
  const give = async (chosen: Role): Promise<void> => {
    await operation('pairApprove', { code: person, role: chosen });
    changed();
  };
  const remove = async (): Promise<void> => {
    const { still, ownerless } = await operation('pairRemove', { person });
    say([still, ownerless].filter((sentence) => sentence !== null).join(' '));
    changed();
  };
  return (
    <li>
      <div class="row wrap">
        <span>
          <strong>{shown(name ?? id)}</strong>
          <span class="faint block">
            {shown(channel)} · {shown(id)} · since <Time at={addedAt} />
          </span>
        </span>
        <RoleChoice
          label={`Role of ${name ?? id}`}
          role={role}
          choose={(chosen) => void give(chosen).catch((error: unknown) => say(String(error)))}
        />
        <Action class="quiet" sure="Remove?" run={remove} label={`Remove ${name ?? id}`}>
          Remove
        </Action>
      </div>
      {said === '' ? null : <p class="bad">{said}</p>}
    </li>
  );
}

function RoleChoice({
  label,
  role,
  choose,
}: {
  readonly label: string;
  /** Undefined until one is chosen: no role is given by accident. */
  readonly role: Role | undefined;
  readonly choose: (role: Role) => void;
}): VNode {
  return (
    <select
      aria-label={label}
      value={role ?? ''}
      onChange={({ currentTarget }) => {
        if (isRole(currentTarget.value)) choose(currentTarget.value);
      }}
    >
      {role === undefined ? <option value="">Choose a role …</option> : null}
      {NAMES.map((name) => (
        <option key={name} value={name}>
          {ROLES[name]}
        </option>
      ))}
    </select>
  );
}
