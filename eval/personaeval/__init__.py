"""Role identification after PersonaEval: can a judge tell who is speaking?

Paper: Zhou et al. 2025, "PersonaEval: Are LLM Evaluators Human Enough to Judge Role-Play?",
arXiv:2508.10014. Data: `lingfengzhou/PersonaEval` on the Hugging Face hub (tracks Literary,
Drama and Expertise as CSV; see its card for the licence), code MIT. Neither is part of this
package; the loaders read the CSV files as they are, and JSONL items of our own making.

An item: a turn of a known speaker, the reply of an unknown one, and candidates with profiles.
From a play in the public domain (The Importance of Being Earnest, 1895):

    Algernon Moncrieff: "What on earth do you do there?"
    ?: "When one is in town one amuses oneself. When one is in the country one amuses other
        people. It is excessively boring."
    Jack Worthing | Lady Bracknell | Cecily Cardew | Canon Chasuble     (it is Jack)

Where we differ from the released code, and why:

- All options are kept, the fifth of Expertise too, which the code's tables lose.
- Ties share their ranks (mid-rank); `tie=official_stable` gives the code's order with a stable
  sort, as its own depends on the processor.
- An invalid output is wrong and ranks last in the headline; ECE and Brier are over valid ones
  and stand beside their share. A request that never arrived is not scored at all.
- `parse=renorm` also takes vectors that do not sum to 1; how many were rescaled is counted, and
  the strict accuracy stands beside. NaN, which slips through the code's sum check, is refused.
- A likelihood mode for models that cannot write JSON, intervals clustered by work, and few-shot
  examples from a work of their own.
"""
