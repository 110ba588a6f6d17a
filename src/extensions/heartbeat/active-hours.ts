import { zoneTimeOf } from '../../core/api-time.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;

/**
 * Whether the local time of a zone is within hours such as `08:00-22:00`; the end does not belong to them. Hours
 * that end before they begin go over midnight; two equal times, and null, are the whole day. Pure.
 */
export function isActive(hours: string | null, at: number, zone: string): boolean {
  const [from, to] = (hours ?? '').split('-').map(minutesOf);
  if (from === undefined || to === undefined || from === to) return true;
  const now = Math.floor(zoneTimeOf(at, zone) / MINUTE_MS) % DAY_MINUTES;
  return from < to ? from <= now && now < to : from <= now || now < to;
}

function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}
