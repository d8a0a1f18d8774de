package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp/kb"
)

// Thing is an element as a screen reader presents it: its role, name and state.
type Thing struct {
	Role, Name, Value string
	// States are the properties that are not false, such as disabled, expanded, pressed or focused.
	States map[string]string
	node   cdp.BackendNodeID
}

// Find returns the elements with the role whose name contains the text, in the order of the page. It skips elements that are hidden or
// behind a modal dialog.
func (p *Page) Find(role, name string) ([]Thing, error) {
	document, err := call(p, runtime.Evaluate, runtime.EvaluateParams{Expression: "document"})
	if err != nil {
		return nil, err
	}
	found, err := call(p, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{ObjectID: document.Result.ObjectID, Role: role})
	if err != nil {
		return nil, err
	}
	var things []Thing
	for _, n := range found.Nodes {
		t := Thing{Role: role, Name: text(n.Name), Value: text(n.Value), States: map[string]string{}, node: n.BackendDOMNodeID}
		if n.Ignored || !strings.Contains(t.Name, name) {
			continue
		}
		for _, property := range n.Properties {
			if v := text(property.Value); v != "" && v != "false" {
				t.States[string(property.Name)] = v
			}
		}
		things = append(things, t)
	}
	return things, nil
}

// One waits for an element and returns it: the only one with that role and that name, or if there is none, the first whose name contains
// the text.
func (p *Page) One(role, name string) (Thing, error) {
	var found Thing
	err := p.Wait(func() error {
		things, err := p.Find(role, name)
		if err != nil {
			return err
		}
		for _, t := range things {
			if t.Name == name {
				found = t
				return nil
			}
		}
		if len(things) == 0 {
			return fmt.Errorf("there is no %s %q", role, name)
		}
		found = things[0]
		return nil
	})
	return found, err
}

func text(v *accessibility.Value) string {
	if v == nil || len(v.Value) == 0 {
		return ""
	}
	var s string
	if json.Unmarshal([]byte(v.Value), &s) == nil {
		return s
	}
	return string(v.Value)
}

// Wait calls ok until it returns nil, and returns its last error.
func (p *Page) Wait(ok func() error) error { return p.WaitFor(Settle, ok) }

// WaitFor is Wait with another limit.
func (p *Page) WaitFor(limit time.Duration, ok func() error) error {
	var err error
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(60 * time.Millisecond) {
		if p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		if err = ok(); err == nil {
			return nil
		}
	}
	return fmt.Errorf("waited %s: %w", limit, err)
}

var errCovered = errors.New("something else is in front of it")

// Click presses the mouse on the thing, wherever it is by then.
func (p *Page) Click(role, name string) error {
	return p.Wait(func() error {
		t, err := p.One(role, name)
		if err != nil {
			return err
		}
		if t.States["disabled"] != "" {
			return fmt.Errorf("%s %q is disabled", role, name)
		}
		return p.ClickOn(t)
	})
}

// ClickOn presses the mouse on a thing that was found.
func (p *Page) ClickOn(t Thing) error {
	x, y, err := p.centre(t)
	if err != nil {
		return err
	}
	ok, err := p.apply(t, `function(x, y) {
		const at = document.elementFromPoint(x, y);
		return this.contains(at) || (at !== null && at.contains(this) && at !== document.body && at !== document.documentElement);
	}`, x, y)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("%s %q at %.0f,%.0f: %w", t.Role, t.Name, x, y, errCovered)
	}
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMouseMoved, input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		if err := do(p, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: 1}); err != nil {
			return err
		}
	}
	return nil
}

// centre scrolls to a thing and returns the point in its middle.
func (p *Page) centre(t Thing) (x, y float64, err error) {
	if err := do(p, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: t.node}); err != nil {
		return 0, 0, err
	}
	content, err := call(p, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: t.node})
	if err != nil {
		return 0, 0, err
	}
	if len(content.Quads) == 0 {
		return 0, 0, errors.New("it has no size")
	}
	q := content.Quads[0]
	return (q[0] + q[4]) / 2, (q[1] + q[5]) / 2, nil
}

// Drop drags a file or folder of this machine to a thing that was found, and drops it.
func (p *Page) Drop(t Thing, path string) error {
	x, y, err := p.centre(t)
	if err != nil {
		return err
	}
	data := &input.DragData{Items: []*input.DragDataItem{}, Files: []string{path}, DragOperationsMask: 1}
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		if err := do(p, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: x, Y: y, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// ChooseFile chooses a file or folder of this machine for a field of files that was found.
func (p *Page) ChooseFile(t Thing, path string) error {
	return do(p, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, BackendNodeID: t.node})
}

// apply calls a function that returns a bool, with the element of the thing as this.
func (p *Page) apply(t Thing, function string, args ...any) (bool, error) {
	node, err := call(p, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: t.node})
	if err != nil {
		return false, err
	}
	var arguments []*runtime.CallArgument
	for _, arg := range args {
		value, err := json.Marshal(arg)
		if err != nil {
			return false, err
		}
		arguments = append(arguments, &runtime.CallArgument{Value: value})
	}
	called, err := call(p, runtime.CallFunctionOn, runtime.CallFunctionOnParams{FunctionDeclaration: function, ObjectID: node.Object.ObjectID, Arguments: arguments, ReturnByValue: new(true)})
	if err != nil {
		return false, err
	}
	if called.ExceptionDetails != nil {
		return false, errors.New(described(called.ExceptionDetails))
	}
	return string(called.Result.Value) == "true", nil
}

// Focus puts the focus on the thing.
func (p *Page) Focus(role, name string) error {
	return p.Wait(func() error {
		t, err := p.One(role, name)
		if err != nil {
			return err
		}
		return do(p, dom.Focus, dom.FocusParams{BackendNodeID: t.node})
	})
}

// Fill replaces the content of a field with the text.
func (p *Page) Fill(role, name, value string) error {
	if err := p.Focus(role, name); err != nil {
		return err
	}
	if err := p.Run(`document.activeElement.select?.()`, nil); err != nil {
		return err
	}
	if value == "" {
		return p.Press(kb.Delete)
	}
	return do(p, input.InsertText, input.InsertTextParams{Text: value})
}

// Press presses keys: each is one character, or one of kb.
func (p *Page) Press(keys ...string) error {
	for _, key := range keys {
		for _, r := range key {
			if err := p.press(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// press sends a key with its text in one event, so that a page that handles the key prevents the text from being typed, as with a real
// keyboard.
func (p *Page) press(r rune) error {
	events := kb.Encode(r)
	down, up := *events[0], *events[len(events)-1]
	down.Type = input.DispatchKeyEventTypeRawKeyDown
	if len(events) == 3 {
		down.Type, down.Text, down.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, events[1].Text, events[1].UnmodifiedText
	}
	if err := do(p, input.DispatchKeyEvent, down); err != nil {
		return err
	}
	return do(p, input.DispatchKeyEvent, up)
}

// Choose selects an option of a list by its text.
func (p *Page) Choose(name, option string) error {
	return p.Wait(func() error {
		t, err := p.One("combobox", name)
		if err != nil {
			return err
		}
		ok, err := p.apply(t, `function(text) {
			const option = [...this.options].find((o) => o.text.trim() === text);
			if (!option) return false;
			this.focus();
			this.value = option.value;
			this.dispatchEvent(new Event('input', {bubbles: true}));
			this.dispatchEvent(new Event('change', {bubbles: true}));
			return true;
		}`, option)
		if err == nil && !ok {
			err = fmt.Errorf("%q has no option %q", name, option)
		}
		return err
	})
}

// Focused returns the element with the focus.
func (p *Page) Focused() (Thing, error) {
	element, err := call(p, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.activeElement"})
	if err != nil {
		return Thing{}, err
	}
	tree, err := call(p, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: element.Result.ObjectID, FetchRelatives: new(false)})
	if err != nil || len(tree.Nodes) == 0 {
		return Thing{}, err
	}
	n := tree.Nodes[0]
	return Thing{Role: text(n.Role), Name: text(n.Name), Value: text(n.Value), node: n.BackendDOMNodeID}, nil
}

// Type types a text where the focus is.
func (p *Page) Type(value string) error {
	return do(p, input.InsertText, input.InsertTextParams{Text: value})
}
