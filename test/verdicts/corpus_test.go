package verdicts

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
)

// corpusCase is a case of the corpus on its way through the entry points.
type corpusCase struct {
	runsUnderKubeRay
	setting *setting
	// namespaces in which the object is written: where the API server asks CRDs, policies and webhooks, for the gateway, and where an operator acts on it.
	namespaces []string
	names      map[string]string // by namespace
}

func nsCorpus(s *setting) string { return "corpus-" + s.name }

func newCorpus() ([]*corpusCase, error) {
	cases, err := loadCorpus()
	if err != nil {
		return nil, err
	}
	var all []*corpusCase
	for _, c := range cases {
		k := &corpusCase{runsUnderKubeRay: c, setting: settings[0], names: map[string]string{}}
		for _, s := range settings {
			if len(c.Gates) > 0 && s.name == "on" || len(c.GatesOff) > 0 && s.name == "off" {
				k.setting = s
			}
		}
		k.namespaces = []string{nsLayers(k.setting)}
		if c.Version == "" {
			k.namespaces = append(k.namespaces, nsGateway)
		}
		if !c.skips("controller") && hasController(c.Kind, k.setting) {
			k.namespaces = append(k.namespaces, nsCorpus(k.setting))
		}
		all = append(all, k)
	}
	return all, nil
}

// storeCorpus stores what the corpus says was stored before there were rules.
func storeCorpus(ctx context.Context) error {
	return forEach(len(lab.corpus), func(i int) error {
		c := lab.corpus[i]
		if !c.Stored {
			return nil
		}
		for _, ns := range c.namespaces {
			if err := c.create(ctx, ns, ""); err != nil {
				return fmt.Errorf("%s in %s: %w", c.Name, ns, err)
			}
		}
		return nil
	})
}

func (c *corpusCase) client(namespace, version string) dynamic.ResourceInterface {
	if version == "" {
		return kindOf(c.Kind).Namespace(namespace)
	}
	return lab.dynamic.Resource(schema.GroupVersionResource{Group: "ray.io", Version: version, Resource: strings.ToLower(c.Kind) + "s"}).Namespace(namespace)
}

// create writes the object as kubectl does, with the status of the case.
func (c *corpusCase) create(ctx context.Context, namespace, version string) error {
	u, err := c.before()
	if err != nil {
		return err
	}
	if version != "" {
		u.SetAPIVersion("ray.io/" + version)
	}
	u.SetNamespace(namespace)
	client := c.client(namespace, version)
	created, err := client.Create(ctx, u, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.names[namespace] = created.GetName()
	if c.Status == nil {
		return nil
	}
	return eventually(ctx, "the status of "+c.Name, func(ctx context.Context) error { // again when the operator was faster
		created.Object["status"] = c.Status
		_, err := client.UpdateStatus(ctx, created, metav1.UpdateOptions{})
		switch {
		case err == nil:
			return nil
		case !apierrors.IsConflict(err):
			return stop(err)
		}
		now, getErr := client.Get(ctx, created.GetName(), metav1.GetOptions{})
		if getErr == nil {
			created = now
		}
		return err
	})
}

func (c *corpusCase) before() (*unstructured.Unstructured, error) {
	raw, err := c.objectJSON()
	if err != nil {
		return nil, err
	}
	return parsed(raw)
}

func parsed(raw []byte) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	return u, utiljson.Unmarshal(raw, &u.Object)
}

// changed is what is stored, after the change.
func (c *corpusCase) changed(ctx context.Context, namespace string) (*unstructured.Unstructured, error) {
	u, err := c.client(namespace, c.Version).Get(ctx, c.names[namespace], metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	raw, err := c.changeJSON(jsonOf(u.Object))
	if err != nil {
		return nil, err
	}
	return parsed(raw)
}

// write creates the object, unless it is stored already, and makes the change.
func (c *corpusCase) write(ctx context.Context, namespace string) error {
	if !c.Stored {
		version := c.Version
		if c.changes() {
			version = "" // it is the change that is made through an old version
		}
		if err := c.create(ctx, namespace, version); err != nil {
			return fmt.Errorf("creating: %w", err)
		}
	}
	if !c.changes() {
		return nil
	}
	if namespace == nsCorpus(c.setting) && !c.Stored && c.Status == nil { // what is changed runs
		if err := c.acted(ctx, namespace); err != nil {
			return fmt.Errorf("before the change: %w", err)
		}
	}
	return eventually(ctx, "the change of "+c.Name, func(ctx context.Context) error { // again when the operator was faster
		u, err := c.changed(ctx, namespace)
		if err != nil {
			return err
		}
		if _, err = c.client(namespace, c.Version).Update(ctx, u, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
			return stop(err)
		}
		return err
	})
}

// TestCorpusIsNeverRefused shows each case to the API server with CRDs, policies and webhooks, to the gateway, and to the controller.
func TestCorpusIsNeverRefused(t *testing.T) {
	needLab(t)
	counts := map[string]int{}
	var reports = make([]map[string]error, len(lab.corpus))
	_ = forEach(len(lab.corpus), func(i int) error {
		c := lab.corpus[i]
		reports[i] = map[string]error{}
		for _, ns := range c.namespaces {
			var err error
			switch ns {
			case nsGateway:
				err = c.throughGateway(t.Context())
			case nsCorpus(c.setting):
				if err = c.write(t.Context(), ns); err == nil {
					err = c.acted(t.Context(), ns)
				}
			default:
				err = c.write(t.Context(), ns)
			}
			reports[i][ns] = err
		}
		return nil
	})
	refusals, err := cronRefusals(t.Context(), settings[1], nsCorpus(settings[1]))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range lab.corpus {
		// Of a schedule that never comes there is nothing to run.
		if why := refusals[nsCorpus(c.setting)+"/"+c.names[nsCorpus(c.setting)]]; c.Kind == "RayCronJob" && why != "" && !strings.HasPrefix(why, "the schedule never comes") {
			t.Errorf("%s: the operator does not run it, although %s: %s", c.Name, c.Why, why)
		}
		for ns, err := range reports[i] {
			counts[ns]++
			if err != nil {
				t.Errorf("%s in %s, although %s: %v", c.Name, ns, c.Why, err)
			}
		}
	}
	t.Logf("asked about %v", counts)
}

// throughGateway asks for everything but the write.
func (c *corpusCase) throughGateway(ctx context.Context) error {
	base := restPath(c.Kind, nsGateway)
	if !c.Stored {
		u, err := c.before()
		if err != nil {
			return err
		}
		u.SetNamespace(nsGateway)
		if err := accepted(callREST(ctx, c.setting, http.MethodPost, base+"?validateOnly=true", u)); err != nil {
			return err
		}
		if _, err := callGRPC(ctx, c.setting, c.Kind, "Create", map[string]any{"namespace": nsGateway}, u); err != nil || !c.changes() {
			return err
		}
		if err := c.create(ctx, nsGateway, ""); err != nil {
			return fmt.Errorf("storing: %w", err)
		}
	}
	return eventually(ctx, "the change of "+c.Name, func(ctx context.Context) error {
		path := base + "/" + c.names[nsGateway]
		r, err := callREST(ctx, c.setting, http.MethodGet, path, &unstructured.Unstructured{Object: map[string]any{}})
		if err := accepted(r, err); err != nil {
			return err
		}
		raw, err := c.changeJSON(r.body)
		if err != nil {
			return stop(err)
		}
		u, err := parsed(raw)
		if err != nil {
			return stop(err)
		}
		r, err = callREST(ctx, c.setting, http.MethodPut, path+"?validateOnly=true", u)
		if err == nil && r.code == http.StatusBadRequest {
			return stop(accepted(r, err))
		}
		return accepted(r, err)
	})
}

func accepted(r reply, err error) error {
	if err != nil {
		return err
	}
	if r.code >= 300 {
		return fmt.Errorf("HTTP %d: %s", r.code, r.body)
	}
	return nil
}
