"""Words that programmers name things with, by the part they play in a name.

Written down for this project from general knowledge of English and of programming; no list of others was taken over.
"""

# ruff: noqa: SIM905  lists of words read best as words

VERBS = tuple(
    "add adjust align analyze append apply arrange assemble assign balance begin bind build calculate call cancel "
    "capture cast check choose clean clear clip close collect combine compare compile compose compress compute "
    "connect construct convert copy count cover crawl create cut decide decode deduce define delete deliver derive "
    "describe detect determine discover dispatch display divide draw drop dump emit encode enter enumerate estimate "
    "evaluate examine execute expand explore export express extend extract feed fetch fill filter find finish fit "
    "flatten fold follow forward gather generate get give group grow guess handle hash identify import include "
    "increase infer insert inspect install invert join judge keep label launch learn limit link list load locate "
    "look lower make map mark match measure merge minimize modify move multiply normalize note obtain open order "
    "organize pack pair parse partition pick place plan plot pop prepare print probe process produce propose prune "
    "pull push put query raise rank read rebuild receive record reduce refine refresh register remove render repeat "
    "replace report request reset resolve restore retrieve return reverse rotate round run sample save scale scan "
    "score search select send separate serve set shift show shrink shuffle simplify skip slice solve sort split "
    "start stop store strip submit subtract sum swap take test toggle total trace track transform translate "
    "traverse trim turn unpack update upload use validate verify visit walk weigh wrap write".split()
)
NOUNS = tuple(
    "account action address amount anchor angle answer area argument array aspect asset attempt attribute average "
    "axis balance band barrier base basis batch bin bit block board body border bound box branch bucket budget "
    "buffer bundle byte capacity card case cell center chain change channel chapter character chart child choice "
    "chunk circle class clause client cluster code column command component condition content context copy corner "
    "cost count counter course cursor curve cycle data date day default degree delta depth design detail device "
    "difference digit dimension direction distance division document domain dose draft edge effect element end "
    "energy entity entry error estimate event example expression extent factor feature field figure file final "
    "fixture flag flow folder force form format fraction fragment frame function gain gap goal grade graph grid "
    "group guess handle head header height history hit image index input instance instruction interval item job "
    "journal key kind label lane language layer layout leaf level limit line link list load location lock loop lot "
    "map margin mark marker mask mass match matrix maximum mean measure member memory message method metric minimum "
    "mode model module moment month motion name neighbor network node note number object offset operand option "
    "order origin outcome outline output owner pack packet page pair panel parcel parent part partner pass patch "
    "path pattern peak people period person phase phrase piece pixel place plan plane plate point pointer policy "
    "pool population portion position power prefix present price priority product profile program project proof "
    "property quantity query queue quota quote radius range rank rate ratio reading reason record reference region "
    "relation remainder report request reserve residue resource response rest result return root round route row "
    "rule sample scale scene schedule scheme scope score screen section segment selection sentence sequence series "
    "session set shape share sheet shift side sign signal site size slice slot solution source space span speed "
    "stack stage start state statement station status step stock storage store stream string stroke structure "
    "subject subset suffix sum summary surface symbol system table tag tail target task team temperature term test "
    "text theme thread threshold ticket tile time title token tool top topic total trace track tree trial tuple "
    "turn type unit update user value variant vector version vertex view volume voyage weight width window word "
    "worker world year zone".split()
)
ADJECTIVES = tuple(
    "active actual allowed available basic best better big bright broad certain chosen clean clear closed common "
    "complete constant correct current cyclic deep dense direct distinct double dry dual early easy empty equal "
    "even exact extra fast final first fixed flat free fresh full future general global good great half heavy "
    "hidden high ideal initial inner large last late latest left legal light linear local long low lower main major "
    "maximal mean middle minimal minor missing narrow native near new next normal old open optimal ordered original "
    "other outer overall partial past perfect plain possible previous primary prime private proper public pure "
    "quick random rare raw ready real recent regular related relative remote rich right rough safe secondary second "
    "shallow sharp short simple single slow small smooth sole solid sparse special square stable standard static "
    "steady strict strong sub temporary thick thin third tight total true typical unique upper usual valid visible "
    "warm weak whole wide worst wrong young".split()
)
PARTICIPLES = tuple(
    "added adjusted allowed applied arranged assigned balanced built checked chosen cleaned collected combined "
    "computed converted counted created derived detected divided encoded expanded expected extracted filtered found "
    "formed grouped hashed joined kept labeled limited listed loaded mapped marked matched measured merged moved "
    "named normalized noted obtained ordered packed paired parsed picked placed prepared processed produced ranked "
    "read received recorded reduced removed repeated replaced resolved reversed rotated rounded saved scaled "
    "scanned scored seen selected shifted skipped sliced sorted split stored stripped summed swapped taken tested "
    "trimmed updated used visited weighted wrapped written".split()
)
ABBREVIATIONS = tuple(
    "acc addr aux arr attr avg bal buf calc cfg chr cnt col cond conf conn coord cur curr cut del dest df diff dim "
    "dir dist div doc dst elem elt env err eval evt exp expr ext fac fig fin fmt fn frac freq gen grp hdr hi idx "
    "img inc ind info init inp iter len lhs lim lo loc lst lvl mat max mem min mod msg mul nb nr num obj op opt ord "
    "orig out param perm pos pow pre prev prob proc prod ptr qty que rec ref rem rep req res resp ret rev rhs rng "
    "rot rslt sec seg sel seq sig sol spec sq src stat str sub suf summ sym temp tgt tmp tok tot trans tup txt val "
    "var vec vert wt".split()
)
LETTERS = tuple("ijkmnabcdefghpqrstuvwxyz")
"""Without l and o, which look like digits."""

STRUCTURAL = frozenset(
    "to from of in is has on by with without and or not as for at per if can be are was should into than all any no "
    "the a an via self cls args kwargs".split()
)
"""Words that hold a name together; they stay."""
