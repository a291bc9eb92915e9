"""The words that text prompts are made of: short, common, lower-case English.

With a space before it, nearly each of them is one token in the vocabularies of today's models.
"""

__all__ = ["WORDS"]

WORDS: tuple[str, ...] = tuple(
    """
    able about above act action add after again age ago air all allow alone along already also
    always among amount animal another answer any appear apply area arm army around arrive art ask
    away baby back bad bag ball bank bar base bear beat beautiful because bed before begin behind
    believe below best better between beyond big bill bird bit black blood blue board boat body
    book born both box boy break bring brother brown build building business but buy call came can
    car card care carry case catch cause center central certain chair chance change charge check
    child choice choose church city claim class clean clear close cold college color come common
    community company complete computer consider contain continue control cost could country
    couple course court cover create cross culture cup current cut dark data daughter day dead
    deal death decide deep degree describe design detail develop die difference different dinner
    direct discuss doctor dog door down draw dream drive drop during each early earth east easy
    eat edge effect effort eight either else end energy enjoy enough enter entire even evening
    event ever every example expect experience explain express eye face fact fail fall family far
    farm fast father fear feel feet few field fight figure fill film final find fine finger finish
    fire first fish five floor fly follow food foot for force forget form forward found four free
    friend from front full fund game garden gas general get girl give glass goal gold gone good
    government great green ground group grow growth guess gun hair half hand hang happen happy
    hard have head health hear heart heat heavy help her here high him his history hit hold home
    hope horse hospital hot hotel hour house how however human hundred husband idea image imagine
    important improve include increase indeed inside instead interest into issue item job join
    just keep key kid kill kind king kitchen know land language large last late later laugh law
    lay lead leader learn least leave left leg less let letter level lie life light like likely
    line list listen little live local long look lose loss lot love low machine main major make
    man manage many mark market matter may maybe mean measure media medical meet member memory
    mention message method middle might mile military million mind minute miss model modern moment
    money month more morning most mother mountain mouth move movie much music must name nation
    nature near nearly need network never new news next nice night nine none nor north not note
    nothing notice now number occur off offer office officer official often oil old once one only
    open option order other our out outside over own page pain paper parent part party pass past
    pattern pay peace people percent perfect perhaps period person phone picture piece place plan
    plant play player point police policy poor popular position possible power practice prepare
    present president pressure pretty price private problem process produce product program
    project protect prove provide public pull purpose push put quality question quick quickly
    quiet quite race radio raise range rate rather reach read ready real reason receive recent
    record red reduce region related remain remember remove report require research rest result
    return rich right rise risk river road rock role room rule run safe same save say scene school
    science sea season seat second section security see seek seem sell send sense series serious
    serve service set seven several shape share she ship short shot should show side sign similar
    simple simply since sing single sister sit site six size skill skin sleep slow small smile
    social society some son song soon sort sound source south space speak special spend sport
    spring staff stage stand standard star start state stay step still stock stone stop store
    story street strong structure student study stuff style such summer sun support sure surface
    system table take talk task teach team tell ten term test than thank that the their them then
    theory there these they thing think third this those though thought thousand threat three
    through time title today together tonight too top total touch toward town track trade train
    travel treat tree trial trip trouble true trust truth try turn two type under understand unit
    until upon use usually value various very view visit voice vote wait walk wall want war watch
    water way weapon wear week weight well west what when where whether which while white who
    whole whose why wide wife will win wind window winter wish with within without woman wonder
    wood word work worker world worry would write wrong yard yeah year yes yet you young
    """.split()  # noqa: SIM905  # a list of strings would take 800 lines
)
