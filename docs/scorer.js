// How the search ranks what it finds: guides and explanations before reference where a word stands in both, and
// tables of commands, names and results last. The numbers beside `score` are Sphinx's own.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => {
    const boosts = [
      [/^reference\/(api|commands)/, -4],
      [/^(results|explanation\/decisions)\//, -3],
      [/^how-to\/(development|release|migrate)/, -1],
      [/^(how-to|explanation)\//, 3],
      [/^tutorials\//, 2],
    ];
    const found = boosts.find(([name]) => name.test(docname));
    return score + (found ? found[1] : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
