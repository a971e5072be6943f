// SPDX-License-Identifier: Apache-2.0

// Command answers asks the libraries of one Kubernetes release what the recorded test data asks. The first argument is the
// subject; questions come as a JSON list on standard input, and the answers go to standard output in the same order.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// A subject answers one question. What it panics with is reported as a failure of that question.
type subject func(question json.RawMessage) (any, error)

var subjects = map[string]subject{}

func main() {
	if len(os.Args) != 2 || subjects[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: answers SUBJECT < questions.json")
		os.Exit(2)
	}
	if err := answerAll(subjects[os.Args[1]]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answerAll(answer subject) error {
	var questions []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		return fmt.Errorf("cannot read the questions: %w", err)
	}
	answers := make([]any, len(questions))
	for i, question := range questions {
		answers[i] = protect(answer, question)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(answers)
}

// protect turns an error or a panic into an answer that the recorder refuses to write.
func protect(answer subject, question json.RawMessage) (result any) {
	defer func() {
		if r := recover(); r != nil {
			result = map[string]string{"failed": fmt.Sprint(r)}
		}
	}()
	result, err := answer(question)
	if err != nil {
		return map[string]string{"failed": err.Error()}
	}
	return result
}

// compact writes JSON as the recordings have it: without escapes for HTML and without a line break.
func compact(value any) (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))), nil
}
