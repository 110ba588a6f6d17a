import { homeOutageSuite } from '../support/home-outage-suite.ts';

homeOutageSuite({ downMs: 60_000, leaseSeconds: 15, people: 2, everyMs: 2_000 }, [
  ['ended', 'two gateways of each home'],
  ['frozen', 'two gateways of each home'],
  ['cut', 'two gateways of each home'],
  ['cut from some', 'two gateways of each home'],
  ['ended', 'two machines of four homes'],
  ['frozen', 'two machines of four homes'],
  ['cut', 'two machines of four homes'],
  ['cut from some', 'two machines of four homes'],
]);
