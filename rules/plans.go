package rules

import "slices"

// plans are the plans of one set, numbered from 1.
type plans struct {
	names    []string // index: the plan's ID; names[0] is ""
	ids      map[string]PlanID
	fallback PlanID // of what isn't in ids
	from     Part
	values   map[string]PlanID // nil: a value is a name
}

func (p *plans) id(name string) PlanID {
	if id, ok := p.ids[name]; ok {
		return id
	}
	return p.fallback
}

func (p *plans) ofValue(value string) PlanID {
	if p.values == nil {
		return p.id(value)
	}
	if id, ok := p.values[value]; ok {
		return id
	}
	return p.fallback
}

func compilePlans(spec *PlansSpec, ps *problems) plans {
	p := plans{names: []string{""}, ids: map[string]PlanID{}}
	for i, name := range spec.Names {
		path := index("plans.names", i)
		if _, ok := p.ids[name]; ok {
			ps.add(path, ErrDuplicate, "plan %s stands twice", quote(name))
			continue
		}
		if !isName(name) {
			ps.add(path, ErrValue, "%s: a plan's name is %s", quote(name), nameForm)
		}
		p.ids[name] = PlanID(len(p.names))
		p.names = append(p.names, name)
	}
	if spec.Default != "" {
		p.fallback = p.declared("plans.default", spec.Default, ps)
	}
	switch {
	case spec.From != "":
		p.from = compilePlanPart(spec.From, ps)
		if len(spec.Names) == 0 {
			ps.add("plans.names", ErrRequired, "no plan is declared that %s could tell", quote(spec.From))
		}
	case len(spec.Values) > 0:
		ps.add("plans.from", ErrRequired, "values of what? Name the part of a request that has them, such as header:X-API-Key")
	}
	for _, value := range sortedKeys(spec.Values) {
		if p.values == nil {
			p.values = map[string]PlanID{}
		}
		// The value may be a credential: the path doesn't tell it.
		p.values[value] = p.declared("plans.values", spec.Values[value], ps)
	}
	return p
}

func compilePlanPart(text string, ps *problems) Part {
	part, err := ParsePart(text)
	switch {
	case err != nil:
		ps.add("plans.from", ErrKey, "%s", detail(err, ErrKey))
	case part.Kind != Host && !part.Optional():
		ps.add("plans.from", ErrKey, "%s doesn't tell a plan: want a header, cookie, query, user, func or host", quote(text))
	}
	return part
}

// declared returns the plan's ID, which it must have.
func (p *plans) declared(path, name string, ps *problems) PlanID {
	id, ok := p.ids[name]
	if !ok {
		ps.add(path, ErrPlan, "plan %s isn't declared in plans.names", quote(name))
	}
	return id
}

// checkUse finds plans that no rule knows: a typing error, or a limit that was forgotten.
func (p *plans) checkUse(spec *Spec, ps *problems) {
	for i, name := range spec.Plans.Names {
		own := slices.ContainsFunc(spec.Rules, func(r RuleSpec) bool { _, ok := r.Plans[name]; return ok })
		general := slices.ContainsFunc(spec.Rules, func(r RuleSpec) bool { return r.Limit.Tokens != 0 || r.Mode == Block })
		switch {
		case own || name == spec.Plans.Default && general:
		case general:
			ps.add(index("plans.names", i), ErrPlan,
				"no rule gives plan %s a limit of its own: add one, or remove the plan", quote(name))
		default:
			ps.add(index("plans.names", i), ErrPlan, "no rule has a limit for plan %s", quote(name))
		}
	}
}
