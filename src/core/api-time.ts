/** For what keeps times of people: zones, and lengths of time as people write them. */
export { durationText as agoText } from './agent/why/words.ts';
export { durationText, parseDuration } from './util/durations.ts';
export {
  instantOf,
  isZone,
  isoIn,
  localMinute,
  localText,
  localTime,
  machineZone,
  zoneTimeOf,
} from './util/time-zone.ts';
export type { LocalTime, ZoneTime } from './util/time-zone.ts';
