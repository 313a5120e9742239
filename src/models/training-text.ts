/** What the made model learns its tokens from: the kind of text that prompts and answers hold. */
export const TRAINING_TEXT = `The quick test of a local language model asks one plain question and waits for the answer.
A server reads the prompt, fills its cache, and then writes one token after another until the limit.
When two or four clients ask at the same time the server may answer them in one batch, which is faster
for all of them together and slower for each of them alone. The number of parallel slots, the length of
the context and the memory of the machine set how far this goes. Please write a short summary of the file
below, list the functions that it defines, and say what each of them returns. If there is an error in the
code, explain why it happens and how to fix it. function add(a, b) { return a + b; } const result = add(1, 2);
for (let i = 0; i < items.length; i += 1) { if (items[i].name === "value") { console.log(items[i].value); } }
{"id": 1, "name": "first", "status": "open", "tags": ["red", "green", "blue"], "count": 42, "ratio": 0.125}
You are a helpful assistant. The user said that the report should be short, and that the numbers must be right.
Monday, Tuesday, Wednesday, Thursday and Friday are working days; 2024, 2025 and 2026 are years. In the end
every request was completed, none was lost, and the measured rate was 120 per hour with a median of 30 seconds.`;
