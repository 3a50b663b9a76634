"""Stated facts about words and things: categories, opposites, uses, animals, colours, meanings.

Each table is text, one fact after another as `key: value`, separated by `;` or a line end.
Further values after `|` are valid too, so no item offers one of them against the first.
"""

from __future__ import annotations

# Category tables read `category: member, member, ...`. Within a level no member belongs to two
# of the categories, so every member has exactly one valid category among them.
CATEGORY: dict[str, str] = {
    "easy": """
        animal: horse, cow, lion, tiger, elephant, sheep, wolf, rabbit, goat, monkey
        fruit: apple, banana, pear, grape, mango, melon, strawberry, pineapple, papaya
        vehicle: car, bus, truck, bicycle, tram, taxi, motorcycle, train, van
        colour: red, blue, green, yellow, purple, pink, brown, grey, white, black
        drink: tea, coffee, milk, juice, beer, lemonade, vodka, cider, whisky
        tool: hammer, saw, screwdriver, wrench, pliers, chisel, axe, spanner
        furniture: chair, table, sofa, bed, desk, wardrobe, bookcase, armchair, stool
        clothing: shirt, trousers, sock, jacket, coat, skirt, sweater, scarf, dress
        sport: tennis, football, golf, hockey, basketball, rugby, baseball, volleyball
        vegetable: carrot, potato, onion, cabbage, spinach, broccoli, lettuce, celery
        body part: arm, leg, knee, elbow, shoulder, ankle, thumb, nose, ear
        job: doctor, teacher, nurse, lawyer, plumber, baker, farmer, dentist
        musical instrument: piano, guitar, violin, flute, trumpet, clarinet, cello, harp
        building: castle, church, hotel, hospital, museum, palace, cathedral, factory
    """,
    "medium": """
        bird: sparrow, eagle, owl, pigeon, robin, parrot, swan, penguin, hawk
        fish: salmon, trout, tuna, shark, cod, herring, sardine, carp, mackerel
        insect: ant, bee, wasp, beetle, butterfly, mosquito, moth, cockroach
        reptile: lizard, tortoise, crocodile, cobra, iguana, gecko, alligator, viper
        mammal: badger, otter, whale, squirrel, kangaroo, hedgehog, giraffe, camel
        tree: oak, birch, willow, elm, maple, spruce, poplar, larch
        flower: tulip, daisy, lily, daffodil, orchid, carnation, marigold
        metal: iron, copper, aluminium, zinc, nickel, platinum, titanium, tungsten
        spice: cinnamon, nutmeg, cumin, turmeric, paprika, saffron, cardamom
        language: English, Spanish, Arabic, Hindi, Russian, Swahili, Korean, Turkish
        planet: Mars, Venus, Jupiter, Saturn, Neptune, Uranus
        shape: triangle, square, circle, rectangle, hexagon, pentagon, oval, octagon
        dance: waltz, tango, polka, foxtrot, samba, rumba, flamenco
        fabric: silk, linen, denim, velvet, nylon, polyester, satin, flannel
        disease: measles, malaria, influenza, mumps, cholera, tuberculosis, pneumonia
    """,
    "hard": """
        dog: beagle, poodle, dachshund, rottweiler, spaniel, terrier, whippet, corgi
        cheese: cheddar, brie, mozzarella, parmesan, gouda, feta, camembert, edam
        gemstone: ruby, emerald, sapphire, opal, topaz, amethyst, garnet
        pasta: spaghetti, penne, fusilli, macaroni, ravioli, linguine, tagliatelle, rigatoni
        currency: dollar, euro, yen, peso, rupee, krona, dinar, baht
        hat: fedora, beret, bonnet, sombrero, trilby, fez, beanie
        boat: canoe, kayak, yacht, ferry, gondola, schooner, dinghy, catamaran
        bone: femur, tibia, clavicle, pelvis, humerus, fibula, scapula, sternum
        weapon: sword, spear, rifle, pistol, dagger, musket, crossbow, cannon
        bread: baguette, ciabatta, naan, focaccia, bagel, pitta, brioche, chapati
        shellfish: lobster, oyster, mussel, prawn, clam, scallop, shrimp, cockle
        grain: wheat, barley, maize, millet, rice, sorghum
        religion: Islam, Buddhism, Hinduism, Judaism, Christianity, Sikhism, Jainism
        martial art: judo, karate, taekwondo, aikido, kung fu, kendo
    """,
}

OPPOSITE: dict[str, str] = {
    "easy": """
        hot: cold; big: small; wet: dry; fast: slow; happy: sad; open: closed
        good: bad | poor; full: empty; high: low; long: short; hard: soft; early: late
        clean: dirty; rich: poor; strong: weak; loud: quiet | soft; thick: thin | narrow
        black: white; true: false; wide: narrow | thin; old: young; deep: shallow
    """,
    "medium": """
        alive: dead; smooth: rough; cheap: expensive; sharp: blunt; brave: cowardly
        guilty: innocent; ancient: modern; public: private; artificial: natural
        tight: loose; straight: crooked; polite: rude; bitter: sweet; awake: asleep
        generous: stingy; permanent: temporary; simple: complicated; wild: tame
        foreign: native; proud: humble; heavy: light; bright: dark; safe: dangerous
        sick: healthy; stale: fresh; beautiful: ugly; odd: even
    """,
    "hard": """
        transparent: opaque; vertical: horizontal; rural: urban; scarce: abundant
        rigid: flexible; hostile: friendly; timid: bold; fertile: barren; vague: precise
        genuine: fake; verbose: concise | precise; frugal: extravagant
        trivial: important; obscure: famous | precise; voluntary: compulsory
        mandatory: optional; sober: drunk; absent: present; acidic: alkaline
        arrogant: modest; tragic: comic; toxic: harmless; chaotic: orderly
        hollow: solid; drowsy: alert; clumsy: graceful
    """,
}

TOOL = """
    cut paper: scissors | knife | saw; hit a nail: hammer; sweep the floor: broom
    tell the time: clock | phone; boil water: kettle | oven; dry your body: towel
    unlock a door: key; take a photo: camera | phone; eat soup: spoon
    keep off the rain: umbrella; keep food cold: fridge
    wash your hands: soap | towel | bucket | hose; call a friend: phone
    climb onto a roof: ladder; dig a hole: shovel | spoon
    carry water: bucket | kettle | hose | spoon; bake a cake: oven
    read in the dark: lamp | phone | match; tidy your hair: comb | scissors
    chop onions: knife; write a note: pen | phone; watch the news: television | phone
    look at distant stars: telescope | camera; sew on a button: needle
    measure a short line: ruler; cut a log: saw; weigh flour: scales | spoon
    find north: compass | phone; check for a fever: thermometer; light a candle: match
    rub out pencil marks: eraser; post a letter: stamp; trim a lawn: mower | scissors
    open a wine bottle: corkscrew | knife; look at tiny germs: microscope | camera
    tighten a nut: spanner; tie up a parcel: string; hear a heartbeat: stethoscope
    put out a fire: extinguisher | bucket | hose | towel
    keep a boat in place: anchor | string; jump safely from a plane: parachute
    add numbers quickly: calculator | phone
"""

SOUND = """
    dog: bark | growl | howl; cat: meow | hiss | growl; cow: moo; sheep: baa | bleat
    lion: roar | growl; snake: hiss; horse: neigh; pig: oink | squeak; duck: quack
    bee: buzz; wolf: howl | growl | bark; owl: hoot; frog: croak; mouse: squeak
    goat: bleat | baa; donkey: bray; sparrow: chirp; turkey: gobble | cluck
    elephant: trumpet | roar; hen: cluck; dove: coo; bear: growl | roar
    crow: caw; goose: honk | hiss
"""

YOUNG = """
    dog: puppy | pup; cat: kitten; cow: calf; horse: foal; sheep: lamb; goat: kid; bear: cub
    kangaroo: joey; goose: gosling | chick; swan: cygnet | chick; deer: fawn | calf
    frog: tadpole; hare: leveret; butterfly: caterpillar; seal: pup | puppy; eel: elver
    turkey: poult | chick; pigeon: squab | chick; fly: maggot; penguin: chick
    elephant: calf; whale: calf; lion: cub; tiger: cub; koala: joey; zebra: foal
    donkey: foal; giraffe: calf; moose: calf; llama: cria; toad: tadpole
    moth: caterpillar
"""

COLOUR = """
    a ripe banana: yellow; fresh grass: green; snow: white; coal: black; blood: red
    chocolate: brown; a clear sky: blue; a ripe lemon: yellow; a flamingo: pink
    a raven: black; an elephant: grey; milk: white; a carrot: orange; lettuce: green
    spinach: green; a ripe strawberry: red; a ripe tomato: red; a fire engine: red
    a sunflower: yellow; a polar bear: white; soot: black; an aubergine: purple
    lavender: purple; a pea: green; a pumpkin: orange; salt: white; tar: black
    a canary: yellow; a ruby: red; an emerald: green; a sapphire: blue; concrete: grey
    coffee: brown; a tangerine: orange; broccoli: green; flour: white
"""

# Meanings read `foreign word: English noun`; each English noun occurs once in a language.
MEANING: dict[str, dict[str, str]] = {
    "easy": {
        "French": """
            chien: dog; eau: water; maison: house; livre: book; arbre: tree; poisson: fish
            oiseau: bird; lait: milk; nuit: night; lune: moon; soleil: sun; neige: snow
            pierre: stone; cheval: horse; vache: cow; pomme: apple; roi: king; pont: bridge
            fromage: cheese; ville: city; femme: woman; enfant: child; loup: wolf
            jambe: leg; plage: beach; oeuf: egg; chaussure: shoe; pain: bread; feu: fire
        """,
        "Spanish": """
            perro: dog; gato: cat; agua: water; casa: house; libro: book; leche: milk
            mano: hand; ojo: eye; luna: moon; nieve: snow; piedra: stone; puerta: door
            mesa: table; silla: chair; caballo: horse; vaca: cow; manzana: apple; rey: king
            zapato: shoe; llave: key; puente: bridge; queso: cheese; ciudad: city
            mujer: woman; lobo: wolf; oso: bear; cama: bed; huevo: egg; playa: beach
        """,
    },
    "medium": {
        "German": """
            Hund: dog; Baum: tree; Vogel: bird; Auge: eye; Stuhl: chair; Pferd: horse
            Messer: knife; Tisch: table; Kopf: head; Stadt: city; Zahn: tooth; Kind: child
            Frau: woman; Wald: forest; Berg: mountain; Fenster: window; Bein: leg; Ei: egg
            Gabel: fork; Hose: trousers; Kleid: dress; Zug: train; Flugzeug: aeroplane
            Brief: letter; Geld: money; Uhr: clock; Teller: plate; Zwiebel: onion
            Kartoffel: potato; Schwein: pig; Ente: duck; Schmetterling: butterfly
        """,
    },
    "hard": {
        "Finnish": """
            koira: dog; kissa: cat; vesi: water; talo: house; kirja: book; puu: tree
            kala: fish; lintu: bird; maito: milk; kuu: moon; aurinko: sun; lumi: snow
            tuli: fire; kivi: stone; ovi: door; tuoli: chair; hevonen: horse; omena: apple
            avain: key; silta: bridge; meri: sea; kukka: flower; saari: island
            vuori: mountain; hammas: tooth; nainen: woman; lapsi: child; karhu: bear
        """,
        "Swahili": """
            mbwa: dog; paka: cat; maji: water; nyumba: house; kitabu: book; mti: tree
            samaki: fish; mkate: bread; maziwa: milk; jicho: eye; usiku: night; jua: sun
            theluji: snow; moto: fire; jiwe: stone; mlango: door; meza: table; kiti: chair
            farasi: horse; moyo: heart; mfalme: king; kiatu: shoe; ufunguo: key
            daraja: bridge; bahari: sea; simba: lion; tembo: elephant; mwezi: moon
        """,
    },
}
