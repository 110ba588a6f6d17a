import type { DatabaseSync } from 'node:sqlite';
export function fillRareRows(_db: DatabaseSync, _now: number): void {}
