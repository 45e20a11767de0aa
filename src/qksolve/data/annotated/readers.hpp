// Readers of annotated texts, one for each format. All take what the files hold and throw TextError, which
// names the line or the identifier of what is wrong.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "qksolve/data/annotated/annotated.hpp"

namespace qksolve::training {

// Of a sentence whose verb is to agree with its subject: the tokens before the verb, with the subject as
// relevant token, or all of them, with subject and verb relevant.
enum class SentenceInput { prefix, sentence };

// Number agreement from sentences with tagged words ("The/at jury/nn said/vbd", a sentence a line, a document
// a string; tags of the Brown corpus). A rule on these tags finds subjects that stand before a finite verb
// marked for number: leftwards from the verb, over adverbs, a noun phrase, the head of a chain of phrases
// joined by prepositions. Chains after a conjunction, `to` or a modal are left out, so are base forms after
// an object (saw the men go), heads whose number is not the verb's, and phrases whose left neighbour does not
// begin a clause. Every tenth document is validation. Tags are the normalised parts of speech.
AnnotatedText read_agreement(const std::vector<std::string>& documents, SentenceInput input);

// The same from the tab-separated file of Linzen, Dupoux & Goldberg (TACL 2016), 18 columns with a header.
AnnotatedText read_linzen(std::string_view text, SentenceInput input);

// The nouns of WordNet (data.noun): classes are its 26 lexicographer files, the text is the definition, and
// relevant is a word that is the last word of a direct hypernym, or its plural. Definitions of fewer than
// three tokens, and without relevant token, are left out.
AnnotatedText read_glosses(std::string_view text);

// What becomes of the rationales of several annotators: their mean, their union, or what most of them marked.
enum class Rationale { mean, union_of_all, majority };

// HateXplain: dataset.json and post_id_divisions.json. The class is that of most annotators; posts without
// majority, in no division or in the test division are left out.
AnnotatedText read_hatexplain(std::string_view dataset, std::string_view divisions, Rationale rationale);

// SQuAD 1.1 or 2.0, the questions that have an answer. The class is the first word of the question (what who
// when where why which how, else other), the text are its other words and then the context, and the words of
// the first answer are relevant. All questions on a context are on one side of the split.
AnnotatedText read_squad(std::string_view text);

// JSON Lines: {"tokens": [...], "relevant": [0 ... 1, ...], "label": "...", "split": "train"|"validation"},
// and where there are some "tags": [...], as many as tokens, and "group": "...".
AnnotatedText read_annotated(std::string_view text);
// Writes that, an example a line.
void write_annotated(const AnnotatedText& text, const std::function<void(const std::string&)>& write);

// "agreement", "glosses", "linzen", "hatexplain", "squad" or "annotated", by the beginning of a file; empty
// if it looks like none of them.
std::string looks_like(std::string_view text);

}  // namespace qksolve::training
