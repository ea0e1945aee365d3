// Performs dialogues, one a line of a file: node test/perform.js FILE. The first that fails is shown with what led to it.

import { readFileSync } from "node:fs";

import { Dialogue } from "./dialogue.js";

const SHOWN = 12;

for (const line of readFileSync(process.argv[2], "utf8").trim().split("\n")) {
  const { name, client, steps } = JSON.parse(line);
  const dialogue = new Dialogue(client);
  steps.forEach((step, place) => {
    try {
      dialogue.perform(step);
    } catch (error) {
      const before = steps.slice(Math.max(place - SHOWN, 0), place + 1).map((each) => JSON.stringify(each));
      throw new Error(`${name}, step ${place + 1}:\n${before.join("\n")}\n${error.message}`);
    }
  });
}
