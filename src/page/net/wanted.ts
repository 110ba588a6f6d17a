import type { UsageSums } from '../../gateway/operations/usage.ts';

/** Operations that the page asks for and that are not in the table of operations yet, with their answers. */
export interface Wanted {
  skillsList: [Record<string, never>, readonly SkillFacts[]];
  skillsSet: [{ name: string; enabled: boolean }, null];
  skillsInstall: [{ upload: string; confirm?: string; replace?: boolean }, SkillOffer];
  skillsRemove: [{ name: string }, null];
  usageSeries: [{ by: 'model' | 'source' | 'job'; days: number }, UsageSeries];
  health: [Record<string, never>, HealthFacts];
  modelsList: [{ session?: string }, { models: readonly string[]; current: string; chosen: string | null }];
}

export interface SkillFacts {
  readonly name: string;
  readonly description: string;
  readonly source: 'workspace' | 'user' | 'package';
  readonly enabled: boolean;
  readonly found: boolean;
  readonly missing: readonly { readonly what: string; readonly how: string | null }[];
  readonly warnings: readonly string[];
}

export interface SkillOffer {
  readonly name: string;
  readonly description: string;
  readonly files: readonly { readonly path: string; readonly size: number; readonly executable: boolean }[];
  readonly risks: readonly { readonly title: string; readonly where: string; readonly line: string }[];
  readonly warnings: readonly string[];
  readonly replaces: boolean;
  readonly hash: string;
  readonly installed: boolean;
}

export interface UsageSeries {
  readonly since: number;
  readonly rows: readonly UsageSums[];
  readonly days: readonly (UsageSums & { readonly day: string })[];
  readonly cacheHitRate: number | null;
  readonly budgets: readonly {
    readonly name: string;
    readonly unit: 'usd' | 'tokens';
    readonly limit: number;
    readonly used: number;
    readonly left: number;
  }[];
}

export interface HealthFacts {
  readonly channels: readonly {
    readonly name: string;
    readonly state: string;
    readonly detail: string | null;
    readonly queued: number;
  }[];
  readonly queues: {
    readonly runningTurns: number;
    readonly inbound: number;
    readonly outbound: number;
    readonly deadLetters: number;
  };
  readonly sandbox: { readonly state: 'available' | 'missing' | 'off'; readonly detail: string };
  readonly versions: Readonly<Record<string, string>>;
  readonly disk: {
    readonly freeBytes: number | null;
    readonly totalBytes: number | null;
    readonly state: string;
    readonly reason: string | null;
  };
  readonly storage: string | null;
  readonly providers: readonly {
    readonly name: string;
    readonly state: 'ok' | 'failed' | 'unknown';
    readonly detail: string | null;
    readonly at: number | null;
  }[];
  readonly warnings: readonly string[];
}
