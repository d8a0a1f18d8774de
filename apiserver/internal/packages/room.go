package packages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
	"google.golang.org/grpc/codes"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// newTime is how long a package stays at least, so that its RayJob can be created.
const newTime = time.Hour

// runtimeEnv returns the runtime environment of a stored RayJob; empty if the RayJob has ended.
func runtimeEnv(item *store.Item) string {
	var job rayv1.RayJob
	if json.Unmarshal(item.JSON(), &job) != nil || job.DeletionTimestamp != nil || job.Status.JobDeploymentStatus.IsTerminal() {
		return ""
	}
	return job.Spec.RuntimeEnvYAML
}

// makeRoom reserves bytes of a namespace until leave is called. It deletes packages that are too old, and then as many of the oldest unused
// ones as necessary.
func (s *Store) makeRoom(ctx context.Context, namespace string, size int64) (leave func(), err error) {
	s.mu.Lock()
	s.arriving[namespace] += size
	arriving := s.arriving[namespace]
	s.mu.Unlock()
	leave = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.arriving[namespace] -= size; s.arriving[namespace] == 0 {
			delete(s.arriving, namespace)
		}
	}
	kept, err := s.sweep(ctx, namespace, s.NamespaceSize-arriving)
	if err == nil && kept+arriving > s.NamespaceSize {
		err = &rpcstatus.Error{
			Code: codes.ResourceExhausted, Reason: "PACKAGES_FULL",
			Message: "the packages of the namespace have as many bytes as they may; wait until jobs have ended, or ask an administrator of the gateway",
		}
	}
	if err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// Sweep deletes the packages of all namespaces that no RayJob has used for the time of Keep.
func (s *Store) Sweep(ctx context.Context) error {
	var failures []error
	for o, err := range s.Bucket.Objects(ctx, &blob.ListOptions{Prefix: "packages/", Delimiter: "/"}) {
		if err != nil {
			return failed(ctx, listing, err)
		}
		if o.IsDir {
			_, err := s.sweep(ctx, strings.TrimSuffix(strings.TrimPrefix(o.Key, "packages/"), "/"), s.NamespaceSize)
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

const listing = "List packages"

// sweep deletes unused packages that are too old, and the oldest unused ones until the rest has at most so many bytes. It returns how many
// bytes remain.
func (s *Store) sweep(ctx context.Context, namespace string, most int64) (kept int64, err error) {
	found, err := s.list(ctx, namespace)
	if err != nil {
		return 0, err
	}
	for _, o := range found {
		kept += o.Size
	}
	slices.SortFunc(found, func(a, b *blob.ListObject) int { return cmp.Compare(a.ModTime.UnixNano(), b.ModTime.UnixNano()) })
	var inUse map[string]bool // read when needed
	for _, o := range found {
		age := s.Clock.Since(o.ModTime)
		if age < s.Keep && (kept <= most || age < newTime) {
			continue
		}
		if inUse == nil {
			if inUse, err = s.inUse(ctx, namespace); err != nil {
				return kept, err
			}
		}
		if inUse[o.Key] {
			continue
		}
		if err := s.Bucket.Delete(ctx, o.Key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
			return kept, failed(ctx, "Delete a package", err)
		}
		kept -= o.Size
	}
	return kept, nil
}

func (s *Store) list(ctx context.Context, namespace string) (found []*blob.ListObject, err error) {
	for o, err := range s.Bucket.Objects(ctx, &blob.ListOptions{Prefix: folder(namespace)}) {
		if err != nil {
			return nil, failed(ctx, listing, err)
		}
		found = append(found, o)
	}
	return found, nil
}

// inUse returns the keys of the packages whose URLs are in the runtime environments of RayJobs that have not ended.
func (s *Store) inUse(ctx context.Context, namespace string) (map[string]bool, error) {
	jobs, err := s.Jobs(ctx, namespace)
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	for _, item := range jobs {
		for i, rest := range strings.Split(runtimeEnv(item), Prefix) {
			text, _, _ := strings.Cut(rest, ".zip")
			var of sealed
			if i > 0 && s.box.Open(text, purpose, &of) == nil && of[0] == namespace {
				keys[folder(namespace)+of[2]] = true
			}
		}
	}
	return keys, nil
}
