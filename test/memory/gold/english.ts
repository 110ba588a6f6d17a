import { list, type GoldLanguage } from './gold-language.ts';

const MONTHS = list('January|February|March|April|May|June|July|August|September|October|November|December');

export const english: GoldLanguage = {
  people: list(
    'Anna Berger|Anna Bergmann|Hanna Berger|Tom Whitfield|Tim Whitfield|Thomas Whitlock|Clara Jensen|Klara Jansen|Marco Bellini|Maria Bellini|Priya Raman|Pria Rahman|Owen Clarke|Owain Clark|June Parker|April Moss|Jonas Falk|Jonah Falke|Ruth Adler|Rita Adlam',
  ),
  traits: [
    {
      text: '{p} works as {v}.',
      values: list(
        'a carpenter|a paediatric nurse|a tax adviser|a tram driver|an optician|a beekeeper|a court interpreter|a roofer|a pastry chef|a geologist|a piano tuner|a locksmith|an air traffic controller|a midwife|a patent lawyer|a gardener|a dental technician|a stage designer|a chimney sweep|a translator',
      ),
      what: 'What does {p} do for a living?',
      who: 'Who earns money as {v}?',
    },
    {
      text: 'In the evenings {p} likes {v}.',
      values: list(
        'playing the cello|pottery|rowing|chess|orienteering|calligraphy|archery|bookbinding|juggling|fencing|stargazing|knitting|bouldering|tango|fly fishing|origami|badminton|restoring radios|curling|birdwatching',
      ),
      what: 'Which hobby has {p}?',
      who: 'Who spends free time on {v}?',
    },
    {
      text: '{p} lives in {v}.',
      values: list(
        'Graz|Bristol|Turin|Malmö|Ghent|Leipzig|Porto|Kraków|Cork|Lyon|Bergen|Basel|Utrecht|Trieste|Seville|Brno|Tartu|Zadar|Aarhus|Gdańsk',
      ),
      what: 'What is the home town of {p}?',
      who: 'Who can I visit in {v}?',
    },
    {
      text: 'The favourite dish of {p} is {v}.',
      values: list(
        'lentil soup|mushroom risotto|pierogi|shakshuka|fish pie|ramen|spinach lasagne|goulash|paella|dumplings|falafel|apple strudel|moussaka|pumpkin curry|onion tart|gnocchi|borscht|chili sin carne|ratatouille|potato rösti',
      ),
      what: 'What should I cook when {p} comes over?',
      who: 'Who would be happy about {v}?',
    },
    {
      text: '{p} has a pet called {v}.',
      values: list(
        'Biscuit|Momo|Pepper|Nacho|Luna|Tofu|Bruno|Kiwi|Waffles|Ziggy|Olive|Cosmo|Pickle|Muffin|Rolo|Hazel|Gizmo|Mocha|Tilda|Onyx',
      ),
      what: 'How is the animal of {p} named?',
      who: 'Whose animal is {v}?',
    },
    { text: 'The birthday of {p} is on {v}.', values: 'day', what: 'When was {p} born?', who: 'Who was born on {v}?' },
    {
      text: 'The phone number of {p} is {v}.',
      values: 'phone',
      what: 'How can I call {p}?',
      who: 'Whose number is {v}?',
    },
    {
      text: '{p} is a cousin of {v}.',
      values: 'person',
      what: 'Which relatives has {p}?',
      who: 'Who belongs to the family of {v}?',
    },
    {
      text: '{p} is learning {v}.',
      values: list(
        'Finnish|Korean|Portuguese|Arabic|Welsh|Hindi|Greek|Swahili|Czech|Japanese|Irish|Turkish|Catalan|Polish|Hungarian|Dutch|Basque|Estonian|Hebrew|Romanian',
      ),
      what: 'Which language course does {p} take?',
      who: 'Who could help me with a text in {v}?',
    },
    {
      text: '{p} would like {v} as a present.',
      values: list(
        'a head torch|a waffle iron|a fountain pen|a rain jacket|a houseplant|a board game|a cookbook|concert tickets|a wool blanket|a bicycle bell|a telescope|a tea set|a hammock|a puzzle|a thermos flask|a poster|a bird feeder|a camera strap|a scarf|a kite',
      ),
      what: 'What gift would please {p}?',
      who: 'Who wished for {v}?',
    },
  ],
  day: (month, day) => `${day} ${MONTHS[month - 1]}`,
  events: {
    texts: [
      '{p} and I talked about {v}.',
      'Sent {p} the notes on {v}.',
      '{p} asked about {v}.',
      'Met {p} because of {v}.',
    ],
    values: list(
      'the choir trip|the leaking tap|the new bus timetable|the allotment|a used sofa|the school fete|the broken fence|a hiking map|the insurance letter|the reading group|a borrowed ladder|the street market|the water bill|the boiler|a lost umbrella|the film festival|the moving boxes|the compost|a bicycle repair|the neighbours',
    ),
  },
  paraphrases: [
    ['My doctor wants me to stay away from dairy products.', 'Can I drink milk?'],
    ['The spare key hangs behind the boiler in the cellar.', 'How do I get into the house when I am locked out?'],
    [
      'Our car has to go to its yearly inspection before winter.',
      'Is there anything to do for the vehicle this autumn?',
    ],
    ['I am terrified of heights.', 'Would a ride in a hot-air balloon be a good idea for me?'],
    ['The toddler naps from one to three.', 'At what time should visitors keep quiet because of the baby?'],
    ['We put two hundred euros aside each month for the kitchen.', 'How much do we save for the renovation?'],
    ['The landlord forbids drilling on Sundays.', 'May I put up shelves at the weekend?'],
    ['Wi-Fi password at the cabin: larch-otter-27.', 'How do I get online in the holiday hut?'],
    ['My suitcase was lost on the flight to Oslo.', 'What happened to my luggage?'],
    [
      'The parcel with the hiking boots goes back to the shop, they pinch.',
      'Which shoes did I return because they were too small?',
    ],
    [
      'Grandpa’s hearing aid needs size 312 batteries.',
      'What do I have to buy so that the old man understands us again?',
    ],
    ['I sleep badly after coffee in the afternoon.', 'Why should I skip an espresso at four?'],
    ['Our wedding was in the little chapel above the lake.', 'Where did we marry?'],
    ['The cat vomits when it eats chicken.', 'Which food does our pet not tolerate?'],
  ],
  near: [
    'My doctor is on holiday in August.',
    'Milk is delivered on Tuesdays.',
    'The boiler was serviced by a firm from the next village.',
    'The house has three floors.',
    'The vehicle tax is paid by direct debit.',
    'A balloon for the birthday party costs two euros.',
    'The baby monitor is on the top shelf.',
    'Visitors park in the second row.',
    'The renovation of the town hall takes two years.',
    'Shelves for the cellar are on sale.',
    'The holiday hut has a wood stove.',
    'The luggage rack on the bicycle is loose.',
    'My running shoes are blue.',
    'The old man next door collects stamps.',
    'The espresso machine needs descaling.',
    'The lake is frozen until March.',
    'The pet shop moved to the station.',
  ],
  negations: [
    ['Lena does not eat fish any more.', 'What does Lena not eat?', 'Lena eats a lot of vegetables.'],
    ['The gym is not open on Mondays.', 'On which day is the gym closed?', 'The gym is open until ten.'],
    ['We never got the deposit back.', 'Did the deposit come back?', 'The deposit was three months’ rent.'],
    ['Paul has no driving licence.', 'Can Paul drive the rented van?', 'Paul rented a van for Saturday.'],
    [
      'I am not allergic to penicillin, it was a mistake in the file.',
      'Am I allergic to penicillin?',
      'I am allergic to birch pollen.',
    ],
    [
      'The hotel in Ghent does not take dogs.',
      'Can the dog come to the hotel in Ghent?',
      'The hotel in Ghent has a good breakfast.',
    ],
    ['Nobody in the team works on Fridays.', 'When is the team unavailable?', 'The team meets on Wednesdays.'],
  ],
  changes: [
    [
      'Erik’s office is on the second floor.',
      'Erik’s office moved to the fifth floor.',
      'On which floor is Erik’s office?',
    ],
    [
      'The piano lesson is on Tuesday at five.',
      'The piano lesson is now on Thursday at six.',
      'When is the piano lesson?',
    ],
    [
      'Our internet provider is Fibrenet.',
      'We switched our internet provider to Lumo.',
      'Who is our internet provider?',
    ],
    ['Nora is together with Felix.', 'Nora and Felix broke up, she is with Simon.', 'Who is Nora’s partner?'],
    ['The gate code is 4471.', 'The gate code was changed to 9028.', 'What is the gate code?'],
    ['I take the bus to work.', 'I go to work by bicycle since the bus was cancelled.', 'How do I get to work?'],
    ['The rent is 780 euros.', 'The rent went up to 845 euros.', 'How high is the rent?'],
  ],
  dates: [
    [
      '2026-10-06',
      'Bought a lamp at the flea market.',
      'What did I buy last week?',
      '2026-09-01',
      'Bought a chair at the flea market.',
    ],
    [
      '2026-10-12',
      'The electrician looked at the fuse box.',
      'Which craftsman was here three days ago?',
      '2026-08-20',
      'The plumber looked at the drain.',
    ],
    [
      '2026-03-17',
      'We had dinner at the Golden Crane.',
      'In which restaurant did we eat in March?',
      '2026-07-02',
      'We had dinner at the Blue Barrel.',
    ],
    [
      '2026-10-14',
      'Called the tax office about the form.',
      'Which office did I call yesterday?',
      '2026-10-02',
      'Called the parking office about the permit.',
    ],
    [
      '2025-06-21',
      'The roof was repaired for 3,200 euros.',
      'What was repaired in June 2025?',
      '2026-06-11',
      'The gutter was repaired for 400 euros.',
    ],
    [
      '2026-05-05',
      'Signed the contract for the garden plot.',
      'Which contract did I sign on 5 May?',
      '2026-05-25',
      'Signed the contract for the phone.',
    ],
    [
      '2026-10-09',
      'The choir sang in the old brewery.',
      'Where did the choir sing last Friday?',
      '2026-09-11',
      'The choir sang in the town hall.',
    ],
    [
      '2026-09-13',
      'Lost the blue scarf on the train.',
      'What did I lose last month?',
      '2026-04-03',
      'Lost an umbrella on the tram.',
    ],
  ],
};
