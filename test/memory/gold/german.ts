import { list, type GoldLanguage } from './gold-language.ts';

const MONTHS = list('Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember');

export const german: GoldLanguage = {
  people: list(
    'Katrin Vogel|Kathrin Vogl|Karin Vogler|Jürgen Maier|Jörg Meier|Georg Mayer|Lisa Brandt|Luisa Brand|Stefan Krüger|Steffen Kröger|Mai Nguyen|May Lang|Wolfgang Weiß|Wolfram Weiss|Ayşe Demir|Aylin Demirci|Heike Schäfer|Heiko Schaffer|Ute Böhm|Uta Boehm',
  ),
  traits: [
    {
      text: '{p} arbeitet als {v}.',
      values: list(
        'Tischler|Kinderkrankenpfleger|Steuerberaterin|Straßenbahnfahrer|Optikerin|Imkerin|Gerichtsdolmetscher|Dachdecker|Konditorin|Geologe|Klavierstimmer|Schlosserin|Fluglotsin|Hebamme|Patentanwältin|Gärtner|Zahntechnikerin|Bühnenbildner|Schornsteinfegerin|Übersetzerin',
      ),
      what: 'Womit verdient {p} Geld?',
      who: 'Wer hat den Beruf {v}?',
    },
    {
      text: 'Abends ist {p} am liebsten beim {v}.',
      values: list(
        'Cellospielen|Töpfern|Rudern|Schachspielen|Orientierungslauf|Kalligrafieren|Bogenschießen|Buchbinden|Jonglieren|Fechten|Sternegucken|Stricken|Bouldern|Tangotanzen|Fliegenfischen|Papierfalten|Federballspielen|Radiobasteln|Eisstockschießen|Vogelbeobachten',
      ),
      what: 'Welches Hobby hat {p}?',
      who: 'Wessen Freizeit gehört dem {v}?',
    },
    {
      text: '{p} wohnt in {v}.',
      values: list(
        'Graz|Kiel|Görlitz|Münster|Passau|Leipzig|Bregenz|Erfurt|Lübeck|Chur|Bamberg|Basel|Würzburg|Villach|Rostock|Trier|Konstanz|Siegen|Wismar|Linz',
      ),
      what: 'Wo ist {p} zu Hause?',
      who: 'Wen könnte ich in {v} besuchen?',
    },
    {
      text: 'Das Lieblingsessen von {p} ist {v}.',
      values: list(
        'Linsensuppe|Pilzrisotto|Piroggen|Kaiserschmarrn|Fischauflauf|Nudelsuppe|Spinatlasagne|Gulasch|Paella|Maultaschen|Falafel|Apfelstrudel|Moussaka|Kürbiscurry|Zwiebelkuchen|Gnocchi|Borschtsch|Käsespätzle|Ratatouille|Kartoffelpuffer',
      ),
      what: 'Was soll ich kochen, wenn {p} kommt?',
      who: 'Wem macht man mit {v} eine Freude?',
    },
    {
      text: '{p} hat ein Haustier namens {v}.',
      values: list(
        'Krümel|Momo|Pfeffer|Nacho|Luna|Tofu|Bruno|Kiwi|Waffel|Ziggy|Olive|Kosmo|Gurke|Muffin|Rolli|Hasel|Gizmo|Mokka|Tilda|Onyx',
      ),
      what: 'Wie heißt das Tier von {p}?',
      who: 'Wem gehört {v}?',
    },
    {
      text: '{p} hat am {v} Geburtstag.',
      values: 'day',
      what: 'Wann wurde {p} geboren?',
      who: 'Wer ist am {v} geboren?',
    },
    {
      text: 'Die Telefonnummer von {p} ist {v}.',
      values: 'phone',
      what: 'Wie kann ich {p} anrufen?',
      who: 'Zu wem gehört die Nummer {v}?',
    },
    {
      text: '{p} ist mit {v} verwandt.',
      values: 'person',
      what: 'Wen gibt es in der Familie von {p}?',
      who: 'Wer gehört zur Familie von {v}?',
    },
    {
      text: '{p} lernt {v}.',
      values: list(
        'Finnisch|Koreanisch|Portugiesisch|Arabisch|Walisisch|Hindi|Griechisch|Suaheli|Tschechisch|Japanisch|Irisch|Türkisch|Katalanisch|Polnisch|Ungarisch|Niederländisch|Baskisch|Estnisch|Hebräisch|Rumänisch',
      ),
      what: 'Welchen Sprachkurs macht {p}?',
      who: 'Wer hilft mir bei einem Text auf {v}?',
    },
    {
      text: '{p} wünscht sich {v}.',
      values: list(
        'eine Stirnlampe|ein Waffeleisen|einen Füller|eine Regenjacke|eine Zimmerpflanze|ein Brettspiel|ein Kochbuch|Konzertkarten|eine Wolldecke|eine Fahrradklingel|ein Fernrohr|ein Teeservice|eine Hängematte|ein Puzzle|eine Thermoskanne|ein Plakat|ein Vogelhaus|einen Kameragurt|einen Schal|einen Drachen',
      ),
      what: 'Was für ein Geschenk passt zu {p}?',
      who: 'Wer hätte gerne {v}?',
    },
  ],
  day: (month, day) => `${day}. ${MONTHS[month - 1]}`,
  events: {
    texts: [
      'Mit {p} über {v} gesprochen.',
      '{p} die Notizen zum Thema {v} geschickt.',
      '{p} fragte nach: {v}.',
      '{p} getroffen, es ging um {v}.',
    ],
    values: list(
      'Chorreise|Wasserhahn|Busfahrplan|Schrebergarten|Sofa|Schulfest|Zaun|Wanderkarte|Versicherungsbrief|Lesekreis|Leiter|Straßenmarkt|Wasserrechnung|Heizkessel|Regenschirm|Filmfest|Umzugskartons|Kompost|Fahrradreparatur|Nachbarn',
    ),
  },
  paraphrases: [
    ['Meine Ärztin rät mir von Milchprodukten ab.', 'Darf ich Joghurt essen?'],
    [
      'Der Ersatzschlüssel hängt im Keller hinter dem Heizkessel.',
      'Wie komme ich ins Haus, wenn ich mich ausgesperrt habe?',
    ],
    ['Unser Auto muss vor dem Winter zum TÜV.', 'Was steht im Herbst für den Wagen an?'],
    ['Ich habe Höhenangst.', 'Wäre eine Ballonfahrt etwas für mich?'],
    ['Der Kleine schläft mittags von eins bis drei.', 'Wann sollen Gäste wegen des Babys leise sein?'],
    ['Wir legen jeden Monat zweihundert Euro für die Küche zurück.', 'Wie viel sparen wir für den Umbau?'],
    ['Der Vermieter verbietet Bohren an Sonntagen.', 'Kann ich am Wochenende Regale anbringen?'],
    ['WLAN-Passwort auf der Alm: lärche-otter-27.', 'Wie komme ich in der Ferienhütte ins Internet?'],
    ['Mein Koffer ging auf dem Flug nach Oslo verloren.', 'Was ist mit meinem Gepäck passiert?'],
    ['Das Paket mit den Wanderstiefeln geht zurück, sie drücken.', 'Welche Schuhe waren mir zu klein?'],
    [
      'Opas Hörgerät braucht Batterien der Größe 312.',
      'Was muss ich besorgen, damit der alte Herr uns wieder versteht?',
    ],
    ['Nach Kaffee am Nachmittag liege ich die halbe Nacht wach.', 'Warum sollte ich um vier keinen Espresso trinken?'],
    ['Unsere Hochzeit war in der Kapelle über dem See.', 'Wo haben wir geheiratet?'],
    ['Die Katze erbricht sich von Hühnerfleisch.', 'Welches Futter verträgt unser Haustier schlecht?'],
  ],
  near: [
    'Meine Ärztin ist im August im Urlaub.',
    'Joghurt gibt es dienstags im Angebot.',
    'Der Heizkessel wurde von einer Firma aus dem Nachbarort gewartet.',
    'Das Haus hat drei Stockwerke.',
    'Die Steuer für den Wagen wird abgebucht.',
    'Ein Ballon für das Kinderfest kostet zwei Euro.',
    'Das Babyfon liegt ganz oben im Regal.',
    'Gäste parken in der zweiten Reihe.',
    'Der Umbau des Rathauses dauert zwei Jahre.',
    'Regale für den Keller sind im Angebot.',
    'Die Ferienhütte hat einen Holzofen.',
    'Der Gepäckträger am Fahrrad ist locker.',
    'Meine Laufschuhe sind blau.',
    'Der alte Herr nebenan sammelt Briefmarken.',
    'Die Espressomaschine muss entkalkt werden.',
    'Der See ist bis März zugefroren.',
    'Die Tierhandlung ist zum Bahnhof gezogen.',
  ],
  negations: [
    ['Lena isst keinen Fisch mehr.', 'Was isst Lena nicht?', 'Lena isst viel Gemüse.'],
    [
      'Das Fitnessstudio hat montags nicht geöffnet.',
      'An welchem Tag ist das Fitnessstudio geschlossen?',
      'Das Fitnessstudio hat bis zehn geöffnet.',
    ],
    ['Die Kaution haben wir nie zurückbekommen.', 'Kam die Kaution zurück?', 'Die Kaution betrug drei Monatsmieten.'],
    [
      'Paul hat keinen Führerschein.',
      'Kann Paul den Transporter fahren?',
      'Paul hat für Samstag einen Transporter gemietet.',
    ],
    [
      'Gegen Penicillin bin ich nicht allergisch, das war ein Fehler in der Akte.',
      'Bin ich gegen Penicillin allergisch?',
      'Gegen Birkenpollen bin ich allergisch.',
    ],
    [
      'Das Hotel in Gent nimmt keine Hunde.',
      'Kann der Hund mit ins Hotel nach Gent?',
      'Das Hotel in Gent hat ein gutes Frühstück.',
    ],
    [
      'Freitags arbeitet niemand aus dem Team.',
      'Wann ist das Team nicht erreichbar?',
      'Das Team trifft sich mittwochs.',
    ],
  ],
  changes: [
    [
      'Eriks Büro ist im zweiten Stock.',
      'Eriks Büro ist in den fünften Stock gezogen.',
      'In welchem Stock ist Eriks Büro?',
    ],
    [
      'Die Klavierstunde ist dienstags um fünf.',
      'Die Klavierstunde ist jetzt donnerstags um sechs.',
      'Wann ist die Klavierstunde?',
    ],
    [
      'Unser Internetanbieter ist Fibrenet.',
      'Wir haben den Internetanbieter gewechselt, zu Lumo.',
      'Wie heißt unser Internetanbieter?',
    ],
    [
      'Nora ist mit Felix zusammen.',
      'Nora und Felix haben sich getrennt, sie ist jetzt mit Simon zusammen.',
      'Wer ist Noras Partner?',
    ],
    ['Der Code fürs Tor ist 4471.', 'Der Code fürs Tor wurde auf 9028 geändert.', 'Wie lautet der Code fürs Tor?'],
    [
      'Zur Arbeit fahre ich mit dem Bus.',
      'Zur Arbeit fahre ich mit dem Rad, seit der Bus gestrichen ist.',
      'Wie komme ich zur Arbeit?',
    ],
    ['Die Miete beträgt 780 Euro.', 'Die Miete ist auf 845 Euro gestiegen.', 'Wie hoch ist die Miete?'],
  ],
  dates: [
    [
      '2026-10-06',
      'Auf dem Flohmarkt eine Lampe gekauft.',
      'Was habe ich letzte Woche gekauft?',
      '2026-09-01',
      'Auf dem Flohmarkt einen Stuhl gekauft.',
    ],
    [
      '2026-10-12',
      'Der Elektriker hat den Sicherungskasten angesehen.',
      'Welcher Handwerker war vor drei Tagen da?',
      '2026-08-20',
      'Der Klempner hat den Abfluss angesehen.',
    ],
    [
      '2026-03-17',
      'Abendessen im Goldenen Kranich.',
      'In welchem Lokal waren wir im März zum Abendessen?',
      '2026-07-02',
      'Abendessen im Blauen Fass.',
    ],
    [
      '2026-10-14',
      'Beim Finanzamt wegen des Formulars angerufen.',
      'Bei welchem Amt habe ich gestern angerufen?',
      '2026-10-02',
      'Beim Ordnungsamt wegen des Parkausweises angerufen.',
    ],
    [
      '2025-06-21',
      'Das Dach wurde für 3.200 Euro repariert.',
      'Was wurde im Juni 2025 repariert?',
      '2026-06-11',
      'Die Dachrinne wurde für 400 Euro repariert.',
    ],
    [
      '2026-05-05',
      'Den Vertrag für den Garten unterschrieben.',
      'Welchen Vertrag habe ich am 5. Mai unterschrieben?',
      '2026-05-25',
      'Den Vertrag fürs Telefon unterschrieben.',
    ],
    [
      '2026-10-09',
      'Der Chor sang in der alten Brauerei.',
      'Wo sang der Chor letzten Freitag?',
      '2026-09-11',
      'Der Chor sang im Rathaus.',
    ],
    [
      '2026-09-13',
      'Den blauen Schal im Zug verloren.',
      'Was habe ich letzten Monat verloren?',
      '2026-04-03',
      'Einen Schirm in der Tram verloren.',
    ],
  ],
};
