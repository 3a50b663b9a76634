"""Stated facts about the world: landmarks, cities, state capitals, authors, elements.

The tables are written as in `facts_words`. City tables list names only; the country of each
name is looked up in the installed gazetteer.
"""

from __future__ import annotations

LANDMARK: dict[str, str] = {
    "easy": """
        the Eiffel Tower: France; Big Ben: United Kingdom; the Taj Mahal: India
        the Colosseum: Italy; the Statue of Liberty: United States; the Great Sphinx: Egypt
        Mount Fuji: Japan; the Sydney Opera House: Australia; the Alhambra: Spain
        the statue of Christ the Redeemer: Brazil; the Acropolis: Greece
        Red Square: Russia; the Brandenburg Gate: Germany; the CN Tower: Canada
        Machu Picchu: Peru; the Forbidden City: China; the Hagia Sophia: Turkey
        the Burj Khalifa: United Arab Emirates; Table Mountain: South Africa
        the pyramids of Chichen Itza: Mexico; the Little Mermaid statue: Denmark
        the Charles Bridge: Czechia
    """,
    "medium": """
        Angkor Wat: Cambodia; the ruins of Petra: Jordan; Mount Kilimanjaro: Tanzania
        Borobudur: Indonesia; Blarney Castle: Ireland; the Atomium: Belgium
        the Petronas Towers: Malaysia; Ha Long Bay: Vietnam; Easter Island: Chile
        the Galapagos Islands: Ecuador; Angel Falls: Venezuela; Persepolis: Iran
        Bran Castle: Romania; the Belem Tower: Portugal; Wawel Castle: Poland
        the Schoenbrunn Palace: Austria; the Masai Mara: Kenya; the Geirangerfjord: Norway
        the Wat Arun temple: Thailand; the Matmata caves: Tunisia
        the ruins of Palmyra: Syria; the Etosha pan: Namibia
        the Okavango Delta: Botswana; the Lalibela churches: Ethiopia
        the Sigiriya rock: Sri Lanka; the Shwedagon Pagoda: Myanmar
    """,
}

CITY: dict[str, str] = {
    "easy": """
        Shanghai; Mumbai; Los Angeles; Chicago; Sydney; Toronto; Barcelona; Milan; Munich
        Osaka; Kyoto; Istanbul; Rio de Janeiro; Lagos; Karachi; Dubai; Johannesburg
        Casablanca; Manchester; Marseille; Naples; Geneva; Zurich; Krakow; Melbourne
        Vancouver; Busan; Hamburg; Florence; Kolkata; Jeddah
        Gothenburg; Antwerp; Bordeaux; Sapporo; Auckland; Porto; Guadalajara
    """,
    "medium": """
        Bergen; Salzburg; Thessaloniki; Medellin; Guayaquil; Maracaibo; Arequipa; Mombasa
        Kumasi; Aleppo; Mosul; Isfahan; Lahore; Chattogram; Davao; Surabaya; Mandalay
        Almaty; Odesa; Cork; Tampere; Rosario; Cochabamba; Alexandria; Bursa
        Da Nang; Chiang Mai; Debrecen; Brno; Timisoara; Kaunas; Plovdiv; Valparaiso
        Marrakesh; Durban; Haifa; Christchurch; Rostock; Kharkiv
    """,
    "hard": """
        Lubumbashi; Bulawayo; Blantyre; Ndola; Huambo; Beira; Toamasina; Douala
        Bobo-Dioulasso; Sfax; Oran; Benghazi; Omdurman; Kandahar; Hamhung; Namangan; Osh
        Gyumri; Kutaisi; Daugavpils; Tartu; Maribor; Nis; Kosice; Graz; Encarnacion
        San Pedro Sula; Holguin; Pokhara; Kisumu; Gulu; Mwanza; Kankan; Zinder; Sikasso
        Kaolack; Khulna; Mbeya; Battambang; Savannakhet; Bitola; Banja Luka
    """,
}

STATE_CAPITAL: dict[str, str] = {
    "medium": """
        California: Sacramento; Texas: Austin; Florida: Tallahassee; New York: Albany
        Pennsylvania: Harrisburg; Illinois: Springfield; Ohio: Columbus; Georgia: Atlanta
        North Carolina: Raleigh; Michigan: Lansing; New Jersey: Trenton; Virginia: Richmond
        Washington: Olympia; Arizona: Phoenix; Tennessee: Nashville
        Massachusetts: Boston; Maryland: Annapolis; Missouri: Jefferson City
        Wisconsin: Madison; Colorado: Denver; Minnesota: Saint Paul; Alabama: Montgomery
        Louisiana: Baton Rouge; Kentucky: Frankfort; Oregon: Salem; Utah: Salt Lake City
    """,
    "hard": """
        South Carolina: Columbia; Connecticut: Hartford; Iowa: Des Moines; Nevada: Carson City
        Arkansas: Little Rock; Kansas: Topeka; Mississippi: Jackson; New Mexico: Santa Fe
        Idaho: Boise; Nebraska: Lincoln; West Virginia: Charleston; Hawaii: Honolulu
        New Hampshire: Concord; Maine: Augusta; Montana: Helena; Rhode Island: Providence
        Delaware: Dover; South Dakota: Pierre; North Dakota: Bismarck; Alaska: Juneau
        Vermont: Montpelier; Wyoming: Cheyenne
    """,
}

AUTHOR: dict[str, str] = {
    "medium": """
        Hamlet: William Shakespeare; Oliver Twist: Charles Dickens
        Pride and Prejudice: Jane Austen; War and Peace: Leo Tolstoy
        The Hobbit: J. R. R. Tolkien; Frankenstein: Mary Shelley; Dracula: Bram Stoker
        Don Quixote: Miguel de Cervantes; Moby-Dick: Herman Melville
        Nineteen Eighty-Four: George Orwell; Les Miserables: Victor Hugo
        Alice in Wonderland: Lewis Carroll; Treasure Island: Robert Louis Stevenson
        Crime and Punishment: Fyodor Dostoevsky; The Divine Comedy: Dante Alighieri
        Robinson Crusoe: Daniel Defoe; Gulliver's Travels: Jonathan Swift
        The Time Machine: H. G. Wells; Peter Pan: J. M. Barrie
        The Jungle Book: Rudyard Kipling; Wuthering Heights: Emily Bronte
        The Odyssey: Homer; Pinocchio: Carlo Collodi; The Three Musketeers: Alexandre Dumas
        The Great Gatsby: F. Scott Fitzgerald; Winnie-the-Pooh: A. A. Milne
        The Old Man and the Sea: Ernest Hemingway; The Metamorphosis: Franz Kafka
    """,
    "hard": """
        Madame Bovary: Gustave Flaubert; The Cherry Orchard: Anton Chekhov
        A Doll's House: Henrik Ibsen; Candide: Voltaire; Ulysses: James Joyce
        To the Lighthouse: Virginia Woolf; Middlemarch: George Eliot
        The Canterbury Tales: Geoffrey Chaucer; Paradise Lost: John Milton
        The Decameron: Giovanni Boccaccio; Waiting for Godot: Samuel Beckett
        The Magic Mountain: Thomas Mann; The Tin Drum: Gunter Grass
        Lolita: Vladimir Nabokov; Dead Souls: Nikolai Gogol; The Aeneid: Virgil
        Things Fall Apart: Chinua Achebe; The Name of the Rose: Umberto Eco
        One Hundred Years of Solitude: Gabriel Garcia Marquez
        Brave New World: Aldous Huxley; Lord of the Flies: William Golding
        Heart of Darkness: Joseph Conrad; The Picture of Dorian Gray: Oscar Wilde
        Tess of the d'Urbervilles: Thomas Hardy; The Catcher in the Rye: J. D. Salinger
        The Grapes of Wrath: John Steinbeck; Beloved: Toni Morrison; Germinal: Emile Zola
    """,
}

# The elements from neon (10) to radon (86), in order of atomic number.
ELEMENTS = """
    neon sodium magnesium aluminium silicon phosphorus sulfur chlorine argon potassium calcium
    scandium titanium vanadium chromium manganese iron cobalt nickel copper zinc gallium
    germanium arsenic selenium bromine krypton rubidium strontium yttrium zirconium niobium
    molybdenum technetium ruthenium rhodium palladium silver cadmium indium tin antimony
    tellurium iodine xenon caesium barium lanthanum cerium praseodymium neodymium promethium
    samarium europium gadolinium terbium dysprosium holmium erbium thulium ytterbium lutetium
    hafnium tantalum tungsten rhenium osmium iridium platinum gold mercury thallium lead
    bismuth polonium astatine radon
"""
