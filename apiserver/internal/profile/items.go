package profile

// items are the items of a list by their keys, so that long lists of hostile users are merged in linear time.
type items struct {
	key   string
	all   []any
	taken []bool
	byID  map[string][]int // indices that may not have been taken
}

func newItems(key string, all []any) *items {
	s := &items{key: key, all: all, taken: make([]bool, len(all)), byID: make(map[string][]int, len(all))}
	for i, item := range all {
		if id, ok := idOf(key, item); ok {
			s.byID[id] = append(s.byID[id], i)
		}
	}
	return s
}

// take returns the next item with the key of another one.
func (s *items) take(like any) (item any, found bool) {
	id, ok := idOf(s.key, like)
	for ok && len(s.byID[id]) > 0 {
		i := s.byID[id][0]
		s.byID[id] = s.byID[id][1:]
		if !s.taken[i] {
			s.taken[i] = true
			return s.all[i], true
		}
	}
	return nil, false
}

func (s *items) takeFirst() any {
	s.taken[0] = true
	return s.all[0]
}

// rest returns the items that have not been taken.
func (s *items) rest() (rest []any) {
	for i, item := range s.all {
		if !s.taken[i] {
			rest = append(rest, item)
		}
	}
	return rest
}
