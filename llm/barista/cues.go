package barista

import (
	"strings"
	"sync"
)

// cue is what a phrase of everyday English does in an order.
type cue int

const (
	cueNone    cue = iota
	cueSkip        // says nothing about the order
	cueThanks      //
	cueGreet       //
	cueYes         //
	cueNo          //
	cueAdd         // what follows is wanted
	cueRemove      // what follows is not
	cueCorrect     // what follows takes the place of what came before
	cueUndo        // what came just before is not wanted
	cueSwap        // what follows is to become something else
	cueInto        // what follows is what it becomes
	cueAgain       // the last thing once more
	cueAll         // what follows goes for everything before
	cuePlace       //
	cueHold        // the order is to stay open
	cueStart       // an order is to be opened
	cueCancel      //
	cueMenu        // questions: what there is
	cuePrice       // what something costs
	cueAvail       // whether there is something
	cueTotal       // what the order costs
	cueOrder       // what is on the order
	cueAsk         // something about what follows
	cueChat        // the rest of this part of the sentence is talk
	cueName        // a name follows
)

// phrases are written as tokenize leaves them: no apostrophes, no capitals. The longest that fits counts.
//
//nolint:gochecknoglobals // a constant table
var phrases = map[cue]string{
	cueSkip: `please|the|of|some|i|me|my|mine|we|us|our|you|your|it|its|that|thats|this|those|these|them|they|go|here|there|in|on|
		at|is|are|be|am|was|were|will|would|could|can|may|might|do|does|did|done with|just|only|so|well|um|uh|uhm|er|erm|
		hm|hmm|oh|ah|ok then|right now|now|today|as|very|really|kindly|too|out|up|by|if|possible|maybe|perhaps|
		cup|cups|mug|glass|glasses|piece|pieces|slice|slices|bowl|bottle|size|sized|sizes of|hot|fresh|nice|lovely|good|
		delicious|tasty|great|barista|sir|madam|mate|friend|there you go|then|while you are at it|for me|for us|
		for here|for takeaway|for take away|takeaway|take away|to take away|for pickup|for today|for breakfast|for lunch|
		for my friend|for my wife|for my husband|for my partner|for my colleague|for my daughter|for my son|for my mum|for my mom|
		for my dad|my friend|my wife|my husband|no problem|no worries|no rush|no hurry|no idea|x|times|each|more|same size|
		can you|could you|would you|will you|or|a bit|quickly|quick|asap|thing|things|item|items|kind|lot|what|how|any|not|anything|something|everything|
		have you|do you|did you|late|later|after all|got|has|had|been|because|since|from|about|get me that|all right|alright|today please|ones`,
	cueThanks: `thanks|thank you|thankyou|thx|ty|cheers|ta|much appreciated|many thanks|thanks a lot|thanks so much|
		thank you very much|thank you so much|bye|goodbye|see you`,
	cueGreet: `hi|hello|hey|hiya|howdy|greetings|good morning|good afternoon|good evening|good day|hi there|hello there|
		hey there|how are you|whats up`,
	cueYes: `yes|yeah|yep|yup|yes please|sure|ok|okay|go ahead|sounds good|correct|perfect|please do|go for it|do it|
		of course|absolutely|right`,
	cueNo: `no|nope|nah|no thanks|no thank you|no thx`,
	cueAdd: `i want|i want to order|id like|id like to order|i would like|i would like to order|ill have|ill take|ill get|i will have|
		i will take|can i have|can i get|can i order|could i have|could i get|could i order|may i have|may i get|may i order|
		can we have|can we get|could we have|could we get|can i also have|can i also get|could i also have|can i please have|
		can i please get|could i please have|could i please get|wed like|we would like|we want|well have|well take|give me|
		give us|gimme|get me|get us|bring me|bring us|make me|make us|let me have|let me get|lets have|lets get|i need|we need|
		add|also|plus|want|wants|would like|like|love|id love|need|needs|take|have|get|grab|order|buy|fancy|but|can you add|put|
		include|throw in|give|bring|serve|make|ill take it|ill have it|to order|craving|after|but i want|but id like|i changed my mind id like`,
	cueRemove: `remove|take off|take out|take away the|drop|without|skip|delete|minus|dont want|do not want|dont need|
		do not need|doesnt want|leave out|leave off|hold the|get rid of|no more|not the|not a|not an|cancel the|cancel my|cancel one|
		instead of|rather than|lose the|but no|but not|wont have|dont add|do not add|dont give me|dont order|do not order|less|
		fewer|take back`,
	cueCorrect: `make that|make it|make them|make those|change that to|change it to|change them to|make mine|
		no wait|wait|i mean|i meant|rather|actually|sorry|instead|or rather|on second thought|on second thoughts|scratch that make it|
		no make that|no make it|no sorry|no actually|correction|better`,
	cueUndo:  `scratch that|scrap that|scrap it|forget that|strike that|undo that|take that off|remove it|remove that`,
	cueSwap:  `swap|replace|change|switch|exchange|turn|change the|swap the|replace the|switch the|make the|make my|make one of`,
	cueInto:  `to a|into|with a|for a|to|by a|with|for|to an|for an|with an|to the|for the|with the|by`,
	cueAgain: `again|same again|the same again|same|the same|same as before|the same as before|the usual again`,
	cueAll:   `all|both|all of them|both of them|each one|every one`,
	cuePlace: `place it|place the order|place my order|place order|place that|place this order|place|thats all|that is all|thats all for now|thats it for now|
		thats everything|that is everything|that will be all|thatll be all|thatll be it|that will be it|thats it|that is it|
		that would be all|thats me|nothing else|nothing more|check out|checkout|order it|order that|im done|i am done|we are done|
		done|finished|finish|confirm|confirm it|confirm the order|submit|submit it|submit the order|send it|send the order|
		complete the order|finalize|finalise|pay|ill pay|id like to pay|ready to order|order now|put it through|
		that completes my order|all done|youve got it all`,
	cueHold: `dont place|do not place|dont place it|do not place it|dont place it yet|do not place it yet|not yet|
		dont place the order|do not place the order|dont place the order yet|do not place the order yet|then ill see|and then ill see|
		ill see|well see|to start|to start with|for now|more later|i might want more|i may want more|maybe more|
		keep it open|leave it open|keep the order open|leave the order open|dont order it yet|dont order yet|dont submit|
		dont send it|not done|more to come|wait with it|wait before placing|dont confirm|i will see|to begin with|
		dont finish|dont check out|not finished`,
	cueStart: `start an order|start a order|start a new order|start the order|begin an order|begin a new order|open an order|
		open a new order|create an order|create a new order|new order|start order|start my order|id like to start an order`,
	cueCancel: `cancel|cancel it|cancel that|cancel order|cancel the order|cancel my order|cancel the whole order|cancel everything|
		cancel this order|cancel all|forget it|forget everything|forget the order|forget my order|never mind|nevermind|start over|
		scrap the order|drop the order|abandon the order|cancel the whole thing|remove everything|delete the order|delete everything|
		dont want anything`,
	cueMenu: `menu|the menu|whats on the menu|what is on the menu|what do you have|what do you have today|what have you got|
		what is there|whats there|what can i get|what can i have|what can i order|what could i have|what do you sell|what do you serve|
		what do you offer|whats available|what is available|what are my options|what are the options|options|what else|
		what else do you have|what else is there|show me the menu|what drinks|what food|what have you|what you have|
		what theres|what there is|price list|prices|what are your prices|list the menu|what are the prices|whats left|what is left|
		what do they have|what does the cart have|what do you recommend|recommend|specials|what are the specials`,
	cuePrice: `how much|how much is|how much are|how much for|how much does|how much do|whats the price|what is the price|
		price|priced|cost|costs|what does|what do|whats the cost|what is the cost|how expensive|what sizes|what size|which sizes|
		sizes|size of|what would|how much would|price of|how much will`,
	cueAvail: `do you have|do you have any|have you got|have you got any|have you any|is there|is there any|are there|are there any|
		available|in stock|sold out|do you sell|do you serve|do you do|do you make|got any|you got|you have|you still have|
		do you still have|any left|is the|are the|do you offer|left`,
	cueTotal: `total|the total|whats the total|what is the total|my total|how much is it|how much is that|how much is it all|
		how much is it altogether|how much is that altogether|how much do i owe|how much do i owe you|what do i owe|what do i owe you|
		the bill|my bill|bill|how much in total|how much is my order|how much is the order|how much altogether|
		how much does it cost|how much does that cost|how much does it come to|what does it come to|what does that come to|
		how much in all|how much all together|the damage|whats the damage|how much is everything|how much for everything|
		how much for all|how much will it be|how much will that be|how much would that be|how much did i spend|how much was it|how much was that`,
	cueOrder: `my order|what did i order|what have i ordered|what did i get|whats my order|what is my order|
		whats in my order|what is in my order|whats on my order|what is on my order|order so far|my order so far|the order so far|
		show my order|show me my order|show the order|show me the order|whats in the order|what is in the order|what have i got|
		what do i have|order status|status|wheres my order|where is my order|is my order placed|is it placed|is it ordered|
		did you place it|did you order it|read it back|read that back|read back my order|review my order|review the order|
		what do i have so far|what have i got so far|my order number|whats my order number|what is my order number|the order number|order number|
		whats on it|what is on it|the status|check my order|see my order`,
	cueAsk: `what is a|what is an|whats a|whats an|whats in|what is in|what are|which|whats the|what is the|
		does the|do the|when|where|why|who|tell me about|what about|how about|how is|how are|what comes|are your|is your|does a|is a|do your|how do|how does|how many`,
	cueChat: `im|i am|we are|were in|its a|it is|hes|shes|theyre|youre|have a|i hope|hope|if you|because i|since i|as i|
		ive|i have to|have fun|lets go|my treat|i think|i guess|look forward|looking forward|
		i was|i had|i just|yesterday|last week|last time|keep the change|you are|you look|it looks|it smells|have you had`,
	cueName: `name is|name|names|my names|my name is|the names|the name is|under|under the name|under the name of|in the name of|call me|
		for name|name of|on the name of`,
}

// phrase is one entry of the table, cut into words.
type phrase struct {
	words []string
	cue   cue
}

// lexicon is the table, ready for use. It is made when it is first wanted, so that no start-up pays for it.
type lexicon struct {
	byFirst map[string][]phrase
	words   map[string]bool
}

//nolint:gochecknoglobals // derived from the constant table above, never changed
var english = sync.OnceValue(newLexicon)

func newLexicon() *lexicon {
	l := &lexicon{byFirst: map[string][]phrase{}, words: map[string]bool{}}
	for c := cueSkip; c <= cueName; c++ {
		for text := range strings.SplitSeq(phrases[c], "|") {
			words := strings.Fields(text)
			l.byFirst[words[0]] = append(l.byFirst[words[0]], phrase{words: words, cue: c})
			for _, w := range words {
				l.words[w] = true
			}
		}
	}
	return l
}

// known says whether a word is one of everyday English, which is never a misspelling of something on the menu.
func known(word string) bool {
	_, number := numbers[word]
	return number || english().words[word]
}

// cueAt is the longest phrase that starts at tokens[i], and how many tokens it takes. Of two cues with the same words
// the one with the lower number counts.
func cueAt(tokens []token, i int) (cue, int) {
	best, length := cueNone, 0
	for _, p := range english().byFirst[tokens[i].word] {
		if len(p.words) <= length || i+len(p.words) > len(tokens) {
			continue
		}
		fits := true
		for k, w := range p.words {
			if tokens[i+k].sep != 0 || tokens[i+k].word != w {
				fits = false
				break
			}
		}
		if fits {
			best, length = p.cue, len(p.words)
		}
	}
	return best, length
}
